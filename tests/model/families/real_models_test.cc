// tests/model/families/real_models_test.cc - real models against transformers; tests/golden/make_real.py makes the
// numbers. The models are large and not part of the project: set ATTNSCOPE_MODELS to the folder that holds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "model/run/generate.h"
#include "tests/model/families/golden_support.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::test {
namespace {

using model::Kind;
using model::Model;

// The model's folder; empty: not installed.
std::filesystem::path folder_of(const std::string& name) {
  const char* const models = std::getenv("ATTNSCOPE_MODELS");
  if (models == nullptr || *models == '\0') return {};
  const std::filesystem::path folder = std::filesystem::path(models) / name;
  return std::filesystem::exists(folder / "config.json") ? folder : std::filesystem::path();
}

class RealModels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { open(GetParam()); }

  void open(const std::string& name) {
    folder_ = folder_of(name);
    if (folder_.empty()) GTEST_SKIP() << "set ATTNSCOPE_MODELS to a folder that holds " << name << " to run this";
    expected_ = std::make_unique<Expected>(std::filesystem::path(ATTNSCOPE_GOLDEN) / "real" / (name + ".safetensors"));
    model_ = model::load_model(folder_);
    tokenizer_ = std::make_unique<text::Tokenizer>(text::Tokenizer::load(folder_));
  }

  [[nodiscard]] std::vector<ModelCase> cases() const {
    std::vector<ModelCase> cases;
    for (int n = 0; expected_->has("case" + std::to_string(n) + "/ids"); ++n) {
      const std::string name = "case" + std::to_string(n);
      ModelCase one;
      one.name = name;
      one.ids = expected_->integers(name + "/ids");
      if (expected_->has(name + "/types")) one.types = expected_->integers(name + "/types");
      cases.push_back(std::move(one));
    }
    return cases;
  }

  void expect_hidden(const ModelCase& one, const Outcome& run) const;
  void expect_weights(const ModelCase& one, const Outcome& run);
  void expect_heads(const ModelCase& one, const Outcome& run);

  ThreadPool pool_{2};
  std::filesystem::path folder_;
  std::unique_ptr<Expected> expected_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
};

void RealModels::expect_hidden(const ModelCase& one, const Outcome& run) const {
  const std::vector<std::int32_t> rows = expected_->integers(one.name + "/rows");
  const std::vector<std::int32_t> columns = expected_->integers(one.name + "/columns");
  const Expected::Table wanted = expected_->table(one.name + "/hidden");
  const std::vector<nn::Matrix>& states = run.log.hidden();
  ASSERT_EQ(static_cast<std::int64_t>(states.size()), wanted.shape[0]);
  Worst worst;
  const float* number = wanted.numbers.data();
  for (std::size_t k = 0; k < states.size(); ++k) {
    for (const std::int32_t row : rows) {
      for (const std::int32_t column : columns) {
        worst.see(states[k].row(row)[column], *number++, "state, row, column",
                  {static_cast<std::int64_t>(k), row, column});
      }
    }
  }
  EXPECT_LE(worst.off, kTolerance) << one.name << " hidden, " << worst.where;
}

void RealModels::expect_weights(const ModelCase& one, const Outcome& run) {
  const std::vector<std::int32_t> picks = expected_->integers(one.name + "/picks");
  const std::vector<std::int32_t> keys = expected_->integers(one.name + "/keys");
  const Expected::Table wanted = expected_->table(one.name + "/weights");
  nn::Matrix row(1, static_cast<std::int64_t>(one.ids.size()));
  Worst worst;
  const float* number = wanted.numbers.data();
  for (std::size_t p = 0; p + 2 < picks.size(); p += 3) {
    run.log.weights({Kind::self, picks[p], picks[p + 1]}, {.row = picks[p + 2], .col = 0}, row.view(), pool_);
    for (const std::int32_t key : keys) {
      worst.see(row.data()[key], *number++, "layer, head, row, key", {picks[p], picks[p + 1], picks[p + 2], key});
    }
  }
  EXPECT_LE(worst.off, kAttentionTolerance) << one.name << " weights, " << worst.where;
}

// Of the pooler and of the language model.
void RealModels::expect_heads(const ModelCase& one, const Outcome& run) {
  Worst worst;
  EXPECT_EQ(model_->facts().has_pooler, expected_->has(one.name + "/pooled"));
  if (expected_->has(one.name + "/pooled")) {
    const std::vector<std::int32_t> columns = expected_->integers(one.name + "/columns");
    const Expected::Table wanted = expected_->table(one.name + "/pooled");
    const nn::Matrix pooled = model_->pooled(gather(run.hidden, 0, {0}).view(), pool_);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      worst.see(pooled.data()[columns[c]], wanted.numbers[c], "pooled", {columns[c]});
    }
  }
  EXPECT_EQ(model_->facts().has_logits, expected_->has(one.name + "/logits"));
  if (expected_->has(one.name + "/logits")) {
    const std::vector<std::int32_t> rows = expected_->integers(one.name + "/logits_rows");
    const std::vector<std::int32_t> ids = expected_->integers(one.name + "/logits_ids");
    const Expected::Table wanted = expected_->table(one.name + "/logits");
    const nn::Matrix logits = model_->logits(gather(run.hidden, 0, rows).view(), pool_);
    for (std::size_t i = 0; i < wanted.numbers.size(); ++i) {
      const std::int32_t id = ids[i % ids.size()];
      const auto row = static_cast<std::int64_t>(i / ids.size());
      worst.see(logits.row(row)[id], wanted.numbers[i], "logit, row, id", {rows[static_cast<std::size_t>(row)], id});
    }
  }
  EXPECT_LE(worst.off, kTolerance) << one.name << ", " << worst.where;
}

TEST_P(RealModels, HiddenStatesAttentionAndLogitsMatchTransformers) {
  ASSERT_FALSE(cases().empty());
  for (const ModelCase& one : cases()) {
    const Outcome run = run_alone(*model_, one, pool_);
    expect_hidden(one, run);
    expect_weights(one, run);
    expect_heads(one, run);
  }
}

TEST_P(RealModels, TextsGiveTheSameIds) {
  for (const ModelCase& one : cases()) {
    if (!expected_->has_text(one.name + "/text")) continue;
    const std::string text = expected_->text(one.name + "/text");
    const text::Encoding encoding = expected_->has_text(one.name + "/pair")
                                        ? tokenizer_->encode(text, expected_->text(one.name + "/pair"))
                                        : tokenizer_->encode(text);
    EXPECT_EQ(encoding.ids(), one.ids) << text;
    if (!one.types.empty()) {
      EXPECT_EQ(encoding.types(), one.types) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealModels,
                         testing::Values("bert-base-uncased", "minilm", "bge-small-zh", "stories15M"), model_test_name);

class RealBert : public RealModels {};

TEST_P(RealBert, TheCapitalOfFranceIsParis) {
  const std::vector<std::int32_t> ids = tokenizer_->encode("The capital of France is [MASK].").ids();
  const auto gap = std::find(ids.begin(), ids.end(), tokenizer_->special().mask);
  ASSERT_NE(gap, ids.end());
  const nn::Matrix hidden = model_->encode(model::Batch(ids), {.pool = pool_});
  const nn::Matrix logits = model_->logits(nn::rows_of(hidden.view(), gap - ids.begin(), 1), pool_);
  const auto best = model::likeliest({logits.data(), static_cast<std::size_t>(logits.columns())}, 2);
  ASSERT_EQ(best.size(), 2U);
  EXPECT_EQ(tokenizer_->decode(std::vector{best[0].id}), "paris");
  EXPECT_NEAR(best[0].probability, 0.417, 0.001);
}

INSTANTIATE_TEST_SUITE_P(Models, RealBert, testing::Values("bert-base-uncased"), model_test_name);

class RealStories : public RealModels {};

TEST_P(RealStories, AHundredGreedyTokensEqualTransformers) {
  const std::vector<std::int32_t> prompt = tokenizer_->encode(expected_->text("greedy/text")).ids();
  EXPECT_EQ(prompt, expected_->integers("greedy/prompt"));
  const auto ids = generate(*model_, prompt, {.tokens = 100}, {.pool = pool_});
  EXPECT_EQ(ids, expected_->integers("greedy/greedy"));
}

INSTANTIATE_TEST_SUITE_P(Models, RealStories, testing::Values("stories15M"), model_test_name);

}  // namespace
}  // namespace attn::test
