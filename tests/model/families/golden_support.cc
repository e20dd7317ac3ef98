#include "tests/model/families/golden_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace attn::test {

using model::Batch;
using model::Cache;
using model::Form;
using model::Kind;
using model::Model;
using model::Pass;

const model::StoredTensor& Expected::find(const std::string& name, model::Dtype dtype) const {
  const auto found = file_.tensors().find(name);
  if (found == file_.tensors().end()) throw std::runtime_error(file_.path() + " has no " + name);
  if (found->second.dtype != dtype) throw std::runtime_error(file_.path() + " has another type for " + name);
  return found->second;
}

std::vector<std::int32_t> Expected::integers(const std::string& name) const {
  const model::StoredTensor& stored = find(name, model::Dtype::i32);
  std::vector<std::int32_t> values(static_cast<std::size_t>(stored.bytes) / sizeof(std::int32_t));
  std::memcpy(values.data(), stored.data, static_cast<std::size_t>(stored.bytes));
  return values;
}

Expected::Table Expected::table(const std::string& name) const {
  const model::StoredTensor& stored = find(name, model::Dtype::f32);
  Table table{stored.shape, std::vector<float>(static_cast<std::size_t>(stored.bytes) / sizeof(float))};
  std::memcpy(table.numbers.data(), stored.data, static_cast<std::size_t>(stored.bytes));
  return table;
}

GoldenModel::GoldenModel(const std::string& name)
    : folder_(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / name), expected_(folder_ / "expected.safetensors") {
  for (int n = 0; expected_.has("case" + std::to_string(n) + "/ids"); ++n) {
    ModelCase one;
    one.name = "case" + std::to_string(n);
    one.ids = expected_.integers(one.name + "/ids");
    if (expected_.has(one.name + "/types")) one.types = expected_.integers(one.name + "/types");
    if (expected_.has(one.name + "/decoder_ids")) one.decoder_ids = expected_.integers(one.name + "/decoder_ids");
    cases_.push_back(std::move(one));
  }
  if (cases_.empty()) throw std::runtime_error(folder_.string() + " has no case");
}

std::vector<Prompt> GoldenModel::prompts() const {
  std::vector<Prompt> prompts;
  for (int n = 0; expected_.has("greedy" + std::to_string(n) + "/prompt"); ++n) {
    const std::string name = "greedy" + std::to_string(n);
    prompts.push_back({expected_.integers(name + "/prompt"), expected_.integers(name + "/greedy")});
  }
  return prompts;
}

std::vector<std::string> golden_model_names(bool only_decoding) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models")) {
    if (only_decoding && model::read_facts(entry.path()).form == Form::encoder) continue;
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string model_test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// ---- running ----

namespace {

// Tokens of the i-th piece of a text.
std::int64_t piece(std::size_t i) {
  constexpr std::int64_t kSizes[] = {3, 1, 2, 1, 1, 14, 1};
  return kSizes[i % std::size(kSizes)];
}

nn::Matrix decode_in_pieces(const Model& model, const std::vector<std::int32_t>& ids, const Pass& pass) {
  Cache cache(static_cast<std::int64_t>(ids.size()));
  Pass step = pass;
  step.cache = &cache;
  nn::Matrix all(static_cast<std::int64_t>(ids.size()), model.facts().width);
  std::int64_t done = 0;
  for (std::size_t i = 0; done < all.rows(); ++i) {
    const std::int64_t count = std::min(piece(i), all.rows() - done);
    const nn::Matrix hidden = model.decode(Batch({ids.begin() + done, ids.begin() + done + count}), step);
    std::copy_n(hidden.data(), count * hidden.columns(), all.row(done));
    done += count;
  }
  return all;
}

}  // namespace

Outcome run_batch(const Model& model, const std::vector<ModelCase>& cases, ThreadPool& pool) {
  Outcome run;
  Batch batch, decoder_batch;
  for (const ModelCase& one : cases) {
    batch.add(one.ids, one.types);
    decoder_batch.add(one.decoder_ids);
  }
  run.hidden = model.read(batch, {.pool = pool, .log = &run.log});
  run.starts = batch.starts;
  if (model.facts().form != Form::encoder_decoder) return run;

  model::EncoderOutput memory{std::move(run.hidden), batch.starts};
  run.decoder_hidden = model.decode(decoder_batch, {.pool = pool, .log = &run.log, .memory = &memory});
  run.hidden = std::move(memory.hidden);
  run.decoder_starts = decoder_batch.starts;
  return run;
}

Outcome run_alone(const Model& model, const ModelCase& one, ThreadPool& pool) { return run_batch(model, {one}, pool); }

Outcome run_in_pieces(const Model& model, const ModelCase& one, ThreadPool& pool) {
  Outcome run;
  const Batch batch(one.ids);
  run.starts = batch.starts;
  const Pass pass{.pool = pool, .log = &run.log};
  if (model.facts().form == Form::decoder) {
    run.hidden = decode_in_pieces(model, one.ids, pass);
    return run;
  }
  model::EncoderOutput memory{model.encode(batch, pass), batch.starts};
  run.decoder_hidden = decode_in_pieces(model, one.decoder_ids, {.pool = pool, .log = &run.log, .memory = &memory});
  run.hidden = std::move(memory.hidden);
  run.decoder_starts = {0, static_cast<std::int64_t>(one.decoder_ids.size())};
  return run;
}

// ---- comparing ----

void Worst::see(float got, float wanted, std::string_view what, std::initializer_list<std::int64_t> index) {
  float apart = std::abs(got - wanted);
  if (std::isnan(apart)) apart = std::numeric_limits<float>::infinity();
  if (apart <= off) return;
  off = apart;
  where = what;
  for (const std::int64_t i : index) where += " " + std::to_string(i);
  where += ": " + std::to_string(got) + " instead of " + std::to_string(wanted);
}

nn::Matrix gather(const nn::Matrix& from, std::int64_t first, const std::vector<std::int32_t>& rows) {
  nn::Matrix to(static_cast<std::int64_t>(rows.size()), from.columns());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::copy_n(from.row(first + rows[r]), from.columns(), to.row(static_cast<std::int64_t>(r)));
  }
  return to;
}

namespace {

// Everything needed to compare one case.
struct Comparison {
  const Expected& expected;
  const ModelCase& one;
  const Place& place;
  ThreadPool& pool;

  [[nodiscard]] std::vector<std::int32_t> rows(Kind kind) const {
    return expected.integers(one.name + (kind == Kind::self ? "/rows" : "/decoder_rows"));
  }

  void attention(Kind kind) const;
  void hidden(bool decoder) const;
  void matrix(const std::string& name, const nn::Matrix& got) const;
};

void Comparison::attention(Kind kind) const {
  const std::string name = one.name + "/" + std::string(name_of(kind));
  const Expected::Table wanted = expected.table(name);
  const std::vector<std::int32_t> which = rows(kind);
  ASSERT_EQ(place.run.log.layers(kind), wanted.shape[0]) << name;
  ASSERT_EQ(place.run.log.attention(kind, 0).shape.heads, wanted.shape[1]) << name;
  ASSERT_EQ(place.run.log.size(kind, place.sequence)[1], wanted.shape[3]) << name;
  Worst worst;
  const float* number = wanted.numbers.data();
  for (std::int64_t layer = 0; layer < wanted.shape[0]; ++layer) {
    for (std::int64_t head = 0; head < wanted.shape[1]; ++head) {
      const nn::Matrix weights = place.run.log.weights({kind, layer, head, place.sequence}, pool);
      for (const std::int32_t row : which) {
        for (std::int64_t key = 0; key < wanted.shape[3]; ++key) {
          worst.see(weights.row(row)[key], *number++, "layer, head, row, key", {layer, head, row, key});
        }
      }
    }
  }
  EXPECT_LE(worst.off, kAttentionTolerance) << name << ", " << worst.where;
}

void Comparison::hidden(bool decoder) const {
  const std::string name = one.name + (decoder ? "/decoder_hidden" : "/hidden");
  const Expected::Table wanted = expected.table(name);
  const std::vector<std::int32_t> which = rows(decoder ? Kind::decoder : Kind::self);
  const std::vector<nn::Matrix>& states = place.run.log.hidden(decoder);
  const auto& starts = decoder ? place.run.decoder_starts : place.run.starts;
  ASSERT_EQ(static_cast<std::int64_t>(states.size()), wanted.shape[0]) << name;
  Worst worst;
  const float* number = wanted.numbers.data();
  for (std::size_t k = 0; k < states.size(); ++k) {
    const nn::Matrix got = gather(states[k], starts[static_cast<std::size_t>(place.sequence)], which);
    for (std::int64_t i = 0; i < got.rows() * got.columns(); ++i) {
      worst.see(got.data()[i], *number++, "state, row, column",
                {static_cast<std::int64_t>(k), which[static_cast<std::size_t>(i / got.columns())], i % got.columns()});
    }
  }
  EXPECT_LE(worst.off, kTolerance) << name << ", " << worst.where;
  // The last state is also the result of the pass.
  const nn::Matrix& returned = decoder ? place.run.decoder_hidden : place.run.hidden;
  ASSERT_EQ(returned.rows(), states.back().rows()) << name;
  EXPECT_EQ(std::memcmp(returned.data(), states.back().data(),
                        static_cast<std::size_t>(returned.rows() * returned.columns()) * sizeof(float)),
            0)
      << name;
}

void Comparison::matrix(const std::string& name, const nn::Matrix& got) const {
  const Expected::Table wanted = expected.table(one.name + name);
  ASSERT_EQ(got.rows() * got.columns(), static_cast<std::int64_t>(wanted.numbers.size())) << one.name << name;
  Worst worst;
  for (std::int64_t i = 0; i < got.rows() * got.columns(); ++i) {
    worst.see(got.data()[i], wanted.numbers[static_cast<std::size_t>(i)], "row, column",
              {i / got.columns(), i % got.columns()});
  }
  EXPECT_LE(worst.off, kTolerance) << one.name << name << ", " << worst.where;
}

}  // namespace

void expect_as_written(const Expected& expected, const ModelCase& one, const Place& place, const Model& model,
                       ThreadPool& pool) {
  const Comparison compare{expected, one, place, pool};
  const auto at = static_cast<std::size_t>(place.sequence);
  compare.attention(Kind::self);
  compare.hidden(false);
  if (!one.decoder_ids.empty()) {
    compare.attention(Kind::decoder);
    compare.attention(Kind::cross);
    compare.hidden(true);
  }
  EXPECT_EQ(model.facts().has_logits, expected.has(one.name + "/logits"));
  if (expected.has(one.name + "/logits")) {
    const std::vector<std::int32_t> rows = expected.integers(one.name + "/logits_rows");
    const nn::Matrix read = gather(place.run.last(), place.run.last_starts()[at], rows);
    compare.matrix("/logits", model.logits(read.view(), pool));
  }
  EXPECT_EQ(model.facts().has_pooler, expected.has(one.name + "/pooled"));
  if (expected.has(one.name + "/pooled")) {
    compare.matrix("/pooled", model.pooled(gather(place.run.hidden, place.run.starts[at], {0}).view(), pool));
  }
}

}  // namespace attn::test
