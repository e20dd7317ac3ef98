#include "insight/statistics/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/files/safetensors.h"
#include "model/recording/recording_file.h"
#include "tests/support/numbers.h"
#include "tests/support/temporary_folder.h"

namespace attn::insight {
namespace {

using test::kInfinity;
using test::kNan;
using testing::HasSubstr;

model::Recording recording_to_check(const std::string& name, ThreadPool& pool,
                                    const std::string& words = "The fox jumps over it.") {
  const model::Reader reader = model::Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / name);
  model::Text text;
  text.text = words;
  if (reader.model->facts().form == model::Form::encoder_decoder) text.target = "It was asleep.";
  return model::read(reader, text, {}, pool);
}

// A recording with some of its numbers changed where they lie in the file.
class SpoiltFile {
 public:
  SpoiltFile(const std::string& model, ThreadPool& pool) : SpoiltFile(recording_to_check(model, pool)) {}
  explicit SpoiltFile(const model::Recording& recording) { model::save_recording(recording, folder_ / "x.attn"); }
  SpoiltFile& set(const std::string& tensor, std::int64_t row, std::int64_t column, float value, bool add = false) {
    const model::SafeTensors file = model::SafeTensors::open(folder_ / "x.attn");
    const model::StoredTensor& stored = file.tensors().at(tensor);
    const std::int64_t place = (row * stored.shape[1] + column) * std::int64_t{sizeof(float)};
    float now = 0;
    std::memcpy(&now, stored.data + place, sizeof now);
    if (add) value += now;
    std::fstream out(folder_ / "x.attn", std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(stored.offset + place).write(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  [[nodiscard]] RecordedTables open() const { return RecordedTables(model::load_recording(folder_ / "x.attn")); }

 private:
  test::TemporaryFolder folder_;
};

std::string failure_of(const AttentionTables& tables, ThreadPool& pool, const CheckOptions& options = {}) {
  const CheckResult result = check_weights(tables, options, pool);
  return result.failure ? to_string(*result.failure) : "none";
}

class Check : public testing::Test {
 protected:
  ThreadPool pool_{2};
};

TEST_F(Check, RecordingsOfModelsPass) {
  for (const char* name : {"bert", "gpt2", "mistral", "llama", "t5", "bart"}) {
    const RecordedTables tables(recording_to_check(name, pool_));
    const CheckResult result = check_weights(tables, {}, pool_);
    EXPECT_FALSE(result.failure) << name << ": " << to_string(*result.failure);
    EXPECT_LT(result.deviation, 1e-5) << name;
    EXPECT_EQ(result.heads, std::ssize(tables.heads()));
    EXPECT_EQ(result.rows, result.all_rows);
    std::int64_t rows = 0;
    for (const AttentionStack& stack : tables.stacks()) rows += stack.layers * stack.heads * stack.queries;
    EXPECT_EQ(result.rows, rows);
  }
}

TEST_F(Check, ReportsAWrongLseWithLayerHeadAndRow) {
  const RecordedTables tables = SpoiltFile("mistral", pool_).set("self.1.lse", 3, 5, 0.01F, true).open();
  EXPECT_THAT(failure_of(tables, pool_), HasSubstr("layer 1, head 3, row 5: the weights sum to 0.99005, not 1"));
}

TEST_F(Check, ReportsTheKindIfThereAreSeveral) {
  const RecordedTables tables = SpoiltFile("t5", pool_).set("cross.0.lse", 1, 2, -3, true).open();
  EXPECT_THAT(failure_of(tables, pool_), HasSubstr("cross layer 0, head 1, row 2: "));
}

TEST_F(Check, ReportsAnLseThatIsNotFinite) {
  const auto with = [&](float value) {
    return failure_of(SpoiltFile("bert", pool_).set("self.2.lse", 1, 4, value).open(), pool_);
  };
  EXPECT_THAT(with(kNan), HasSubstr("layer 2, head 1, row 4: lse is NaN"));
  EXPECT_THAT(with(kInfinity), HasSubstr("layer 2, head 1, row 4: lse is inf"));
  EXPECT_THAT(with(-kInfinity), HasSubstr("layer 2, head 1, row 4: lse is -inf"));
}

TEST_F(Check, ReportsAQueryOrKeyThatIsNotANumber) {
  EXPECT_THAT(failure_of(SpoiltFile("gpt2", pool_).set("self.0.q", 3, 0, kNan).open(), pool_),
              HasSubstr("layer 0, head 0, row 3: a weight is not finite"));
  // Causal: rows before the key do not see it.
  EXPECT_THAT(failure_of(SpoiltFile("gpt2", pool_).set("self.0.k", 4, 0, kNan).open(), pool_),
              HasSubstr("layer 0, head 0, row 4: a weight is not finite"));
}

TEST_F(Check, ReportsTheFirstFailureForAnyNumberOfThreads) {
  SpoiltFile file("bert", pool_);
  file.set("self.2.lse", 0, 0, 9, true).set("self.1.lse", 2, 6, 9, true).set("self.1.lse", 2, 4, 9, true);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    EXPECT_THAT(failure_of(file.open(), pool), HasSubstr("layer 1, head 2, row 4: "));
  }
}

TEST_F(Check, ASampleIncludesTheFirstAndTheLastRowAndEveryLse) {
  const CheckOptions few{.most_weights = 1, .progress = {}};
  const auto file = [&] {
    return SpoiltFile(recording_to_check(
        "bert", pool_, "the fox jumps over it and the dog sleeps and then it wakes up and looks at the fox"));
  };
  const CheckResult result = check_weights(file().open(), few, pool_);
  EXPECT_FALSE(result.failure);
  EXPECT_EQ(result.rows, 2 * kCheckedStrip * result.heads);
  EXPECT_LT(result.rows, result.all_rows);
  const std::int64_t last = file().open().stacks()[0].queries - 1;
  const auto with = [&](std::int64_t row, float value) {
    return failure_of(file().set("self.0.lse", 0, row, value, true).open(), pool_, few);
  };
  EXPECT_THAT(with(0, 1), HasSubstr("row 0: the weights sum to"));
  EXPECT_THAT(with(last, 1), HasSubstr("row " + std::to_string(last) + ": the weights sum to"));
  EXPECT_EQ(with(last / 2, 1), "none");
  EXPECT_THAT(with(last / 2, kNan), HasSubstr("row " + std::to_string(last / 2) + ": lse is NaN"));
}

TEST_F(Check, ReportsANumberThatIsNotAWeightBesideTheFirstFailure) {
  for (const auto& [number, shown] : {std::pair{50.0F, "50"}, {-0.5F, "-0.5"}, {kNan, "NaN"}, {kInfinity, "inf"}}) {
    InMemoryTables::Tables table_data{.layers = 1, .heads = 2, .numbers = nn::Matrix(4, 2)};
    std::fill_n(table_data.numbers.data(), 8, 0.5F);
    table_data.numbers.row(0)[0] = 0.9F;
    table_data.numbers.row(3)[1] = number;
    const CheckResult result = check_weights(InMemoryTables(std::move(table_data), {}, {}), {}, pool_);
    EXPECT_EQ(to_string(*result.failure), "layer 0, head 0, row 0: the weights sum to 1.4, not 1");
    EXPECT_EQ(to_string(*result.no_weight),
              "layer 0, head 1, row 1: " + std::string(shown) + " is not a weight: weights lie between 0 and 1");
  }
  InMemoryTables::Tables table_data{.layers = 1, .heads = 1, .numbers = nn::Matrix(2, 2)};
  std::fill_n(table_data.numbers.data(), 4, 0.7F);
  const CheckResult result = check_weights(InMemoryTables(std::move(table_data), {}, {}), {}, pool_);
  EXPECT_TRUE(result.failure && !result.no_weight);
}

// A weight where the mask forbids one.
class Leaky final : public AttentionTables {
 public:
  explicit Leaky(RecordedTables& inner) : AttentionTables(inner.stacks()), inner_(inner) {}
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override {
    return inner_.queries(kind);
  }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override { return inner_.keys(kind); }
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override {
    inner_.weights(head, window, out, pool);
    if (head.head == 1 && window.row == 0) *out.at(0, 5) = 1e-30F;
  }
  [[nodiscard]] bool causal(const HeadId& head) const override { return inner_.causal(head); }
  [[nodiscard]] const model::Recording* recording() const noexcept override { return inner_.recording(); }

 private:
  RecordedTables& inner_;
};

TEST_F(Check, AMaskedWeightMustBeExactlyZero) {
  RecordedTables inner(recording_to_check("gpt2", pool_));
  EXPECT_EQ(failure_of(Leaky(inner), pool_), "layer 0, head 1, row 0: key 5 is masked, but its weight is 1e-30");
}

InMemoryTables table(std::vector<float> numbers, std::int64_t columns) {
  InMemoryTables::Tables table_data{1, 1, nn::Matrix(std::ssize(numbers) / columns, columns)};
  std::ranges::copy(numbers, table_data.numbers.data());
  return {std::move(table_data), {}, {}};
}

TEST_F(Check, TablesFromFilesAreCheckedTheSameWay) {
  EXPECT_EQ(failure_of(table({0.25F, 0.75F, 1, 0}, 2), pool_), "none");
  EXPECT_EQ(failure_of(table({0.25F, 0.75F, 0.5F, 0}, 2), pool_),
            "layer 0, head 0, row 1: the weights sum to 0.5, not 1");
  EXPECT_EQ(failure_of(table({-0.5F, 1.5F, 1, 0}, 2), pool_),
            "layer 0, head 0, row 0: a weight is -0.5, outside [0, 1]");
}

TEST_F(Check, ExceptionFromProgressStopsTheWork) {
  const RecordedTables tables(recording_to_check("bert", pool_));
  std::int64_t last = -1;
  check_weights(tables, {.progress = [&](std::int64_t done, std::int64_t) { last = done; }}, pool_);
  EXPECT_EQ(last, std::ssize(tables.heads()));
  const auto stop = [](std::int64_t, std::int64_t) { throw std::runtime_error("enough"); };
  EXPECT_THROW(check_weights(tables, {.progress = stop}, pool_), std::runtime_error);
}

}  // namespace
}  // namespace attn::insight
