// tests/nn/attention_layer_test.cc - attention with its projections: gradients against finite differences in double,
// with every option.
#include "nn/learn/attention_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/nn/learning_support.h"
#include "tests/support/errors.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::argument_error;
using test::GappedRows;
using test::Numbers;
using test::small_attention;
using test::Table;
using testing::HasSubstr;

struct AttentionProblem {
  AttentionConfig config;
  std::vector<std::int64_t> starts = {0, 5, 6, 13};
  std::vector<std::int64_t> memory_starts = {};  // empty: self-attention
  std::int64_t memory_width = 0;
  std::int64_t distances = 0;
  bool training = false;
};

// A layer with random parameters, run once forward and once backward.
class AttentionStep {
 public:
  explicit AttentionStep(const AttentionProblem& problem, int threads = 2)
      : problem_(problem),
        cross_(!problem.memory_starts.empty()),
        weights_(add_attention(parameters_, "", problem.config, problem.memory_width, problem.distances)),
        layer_(problem.config, weights_),
        x_(GappedRows(problem.starts.back(), problem.config.width).fill(1)),
        memory_(cross_ ? problem.memory_starts.back() : 0, problem.memory_width),
        dy_(GappedRows(x_.rows(), x_.width()).fill(3)),
        y_(x_.rows(), x_.width()),
        dx_(x_.rows(), x_.width()),
        d_memory_(memory_.rows(), memory_.width()) {
    test::fill(parameters_);
    memory_.fill(2);
    d_memory_.fill(4);  // backward() adds to it
    ThreadPool pool(threads);
    Scratch scratch;
    const LearnPass pass{.pool = pool, .scratch = scratch, .training = problem.training, .seed = 99};
    dropout_ = pass.dropout(problem.config.dropout, problem.config.place);
    layer_.forward({x_.view(), cross_ ? memory_.view() : x_.view(), {problem_.starts, memory_starts()}}, {}, y_.view(),
                   pass);
    layer_.backward({dy_.view(), {}, dx_.view(), cross_ ? d_memory_.view() : View<float, 2>{}}, pass);
  }

  [[nodiscard]] test::ExactAttention exact(const Numbers& numbers) const {
    return test::exact_attention(
        numbers, "", problem_.config,
        {numbers.at("x"), numbers.at(cross_ ? "memory" : "x"), problem_.starts, memory_starts()}, dropout_);
  }
  [[nodiscard]] Numbers numbers() const {
    Numbers all = test::numbers_of(parameters_);
    all["x"] = test::table_of(x_.view());
    all["memory"] = test::table_of(memory_.view());
    return all;
  }
  [[nodiscard]] Numbers gradients() const {
    Numbers all;
    test::add_gradients(all, parameters_);
    all["x"] = test::table_of(dx_.view());
    if (!cross_) return all;
    const GappedRows before = GappedRows(memory_.rows(), memory_.width()).fill(4);
    Table& table = all["memory"] = test::table_of(d_memory_.view());
    for (std::int64_t i = 0; i < table.rows; ++i)
      for (std::int64_t j = 0; j < table.columns; ++j) table(i, j) -= static_cast<double>(before.at(i, j));
    return all;
  }
  [[nodiscard]] double loss(const Numbers& numbers) const {
    return test::product(test::table_of(dy_.view()), exact(numbers).y);
  }
  [[nodiscard]] Table y() const { return test::table_of(y_.view()); }
  [[nodiscard]] const MultiHeadAttention& layer() const { return layer_; }
  [[nodiscard]] bool same_bits(const AttentionStep& other) const {
    bool same = y_.same_bits(other.y_) && dx_.same_bits(other.dx_) && d_memory_.same_bits(other.d_memory_);
    for (std::size_t n = 0; n < parameters_.all().size(); ++n) {
      const Parameter &a = parameters_.all()[n], &b = other.parameters_.all()[n];
      same = same && std::equal(a.gradient.data(), a.gradient.data() + a.size(), b.gradient.data());
    }
    return same;
  }

 private:
  [[nodiscard]] const std::vector<std::int64_t>& memory_starts() const {
    return cross_ ? problem_.memory_starts : problem_.starts;
  }

  AttentionProblem problem_;
  bool cross_;
  Parameters parameters_;
  AttentionWeights weights_;
  MultiHeadAttention layer_;
  GappedRows x_, memory_, dy_, y_, dx_, d_memory_;
  Dropout dropout_;
};

void expect_attention_right(const AttentionProblem& problem) {
  const AttentionStep run(problem);
  EXPECT_LE(test::distance(run.y(), run.exact(run.numbers()).y), 5e-6);
  test::expect_slopes(run.numbers(), [&](const Numbers& numbers) { return run.loss(numbers); }, run.gradients());
  for (const int threads : {1, 3}) EXPECT_TRUE(run.same_bits(AttentionStep(problem, threads))) << threads << " threads";
}

TEST(AttentionLayer, GradientsAreRightOnEveryInstructionSet) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    expect_attention_right({.config = small_attention()});
  });
}

TEST(AttentionLayer, GradientsAreRightForEveryNumberOfHeads) {
  for (const std::int64_t heads : {1, 3, 4, 6, 12}) {
    SCOPED_TRACE(heads);
    expect_attention_right({.config = small_attention(heads)});
  }
}

TEST(AttentionLayer, GradientsAreRightWhereHeadsShareKeys) {
  for (const std::int64_t key_heads : {1, 2, 3}) {
    SCOPED_TRACE(key_heads);
    expect_attention_right({.config = small_attention(6, key_heads)});
  }
}

TEST(AttentionLayer, GradientsAreRightUnderMasks) {
  for (const Mask& mask : {Mask(Causal{}), Mask(Window(1)), Mask(Window(2, 0))}) {
    AttentionConfig config = small_attention(3);
    config.mask = mask;
    SCOPED_TRACE(mask.text());
    expect_attention_right({.config = config});
  }
}

TEST(AttentionLayer, GradientsAreRightForOtherScalesAndWithASoftcap) {
  AttentionConfig config = small_attention(4, 2);
  config.scale = 0.75F;
  expect_attention_right({.config = config});
  config.softcap = 1.5F;
  expect_attention_right({.config = config});
}

// With all pairs of a head rotated, and with some of them.
TEST(AttentionLayer, GradientsAreRightWithRotaryPositions) {
  AttentionConfig config = small_attention(2, 1);
  config.relation = Relation::rope;
  config.mask = Causal{};
  config.rope = {.frequencies = rope_frequencies(100, 6), .factor = 1};
  expect_attention_right({.config = config});
  config.rope = {.frequencies = rope_frequencies(100, 4), .factor = 1.25F};
  expect_attention_right({.config = config});
}

TEST(AttentionLayer, GradientsAreRightWithAlibi) {
  AttentionConfig config = small_attention(3);
  config.relation = Relation::alibi;
  expect_attention_right({.config = config});
}

// Distances up to 2, where some are clamped, and up to 9, where each has its own row.
TEST(AttentionLayer, GradientsOfALearnedTableOfDistancesAreRight) {
  AttentionConfig config = small_attention(4, 2);
  config.relation = Relation::relative;
  for (const std::int64_t reach : {2, 9}) {
    SCOPED_TRACE(reach);
    expect_attention_right({.config = config, .distances = 2 * reach + 1});
  }
  config.mask = Causal{};
  expect_attention_right({.config = config, .distances = 5});
}

TEST(AttentionLayer, GradientsOfALearnedTableOfBucketsAreRight) {
  for (const bool bidirectional : {true, false}) {
    AttentionConfig config = small_attention(2);
    config.relation = Relation::buckets;
    config.bucketing = {.bidirectional = bidirectional, .buckets = 8, .max_distance = 6};
    SCOPED_TRACE(bidirectional);
    expect_attention_right({.config = config, .distances = 8});
  }
}

// attn::dropout_keeps decides which weights are dropped, for every sequence separately.
TEST(AttentionLayer, GradientsAreRightUnderDropout) {
  AttentionConfig config = small_attention(3);
  config.dropout = 0.4F;
  config.place = 17;
  expect_attention_right({.config = config, .training = true});
  config.relation = Relation::relative;
  config.mask = Causal{};
  expect_attention_right({.config = config, .distances = 5, .training = true});
}

TEST(AttentionLayer, NothingIsDroppedUnlessTraining) {
  AttentionConfig config = small_attention(3);
  config.dropout = 0.4F;
  const AttentionStep dropping({.config = config, .training = true}), whole({.config = config, .training = false});
  EXPECT_FALSE(dropping.same_bits(whole));
  EXPECT_TRUE(whole.same_bits(AttentionStep({.config = small_attention(3)})));
}

// Three sequences: the second has fewer keys than queries, the third has one key.
AttentionProblem crossing(AttentionConfig config) {
  return {.config = std::move(config), .memory_starts = {0, 9, 11, 12}, .memory_width = 7};
}

TEST(CrossAttentionLayer, GradientsAreRightForAMemoryOfAnotherWidthAndLength) {
  expect_attention_right(crossing(small_attention(3)));
  expect_attention_right(crossing(small_attention(4, 2)));
}

TEST(CrossAttentionLayer, GradientsAreRightWithEveryOption) {
  AttentionConfig config = small_attention(4, 2);
  config.softcap = 2;
  config.scale = 0.4F;
  config.dropout = 0.25F;
  AttentionProblem problem = crossing(config);
  problem.training = true;
  expect_attention_right(problem);

  problem.config.relation = Relation::alibi;
  expect_attention_right(problem);
  problem.config.relation = Relation::relative;
  problem.distances = 7;
  expect_attention_right(problem);
  problem.config.relation = Relation::buckets;
  problem.config.bucketing = {.buckets = 8, .max_distance = 5};
  problem.distances = 8;
  expect_attention_right(problem);
}

// Most queries of the third sequence do not see its only key: their output is the bias of `out`, their gradient 0.
TEST(CrossAttentionLayer, GradientsAreRightWhereAQuerySeesNothing) {
  AttentionProblem problem = crossing(small_attention(3));
  problem.config.mask = Window(1);
  expect_attention_right(problem);
}

TEST(AttentionLayer, WeightsAreTheSoftmaxOfEachSequence) {
  AttentionConfig plain = small_attention(3), relative = small_attention(4, 2);
  plain.mask = Causal{};
  plain.dropout = 0.5F;  // weights are those before dropout
  relative.relation = Relation::relative;
  relative.softcap = 3;
  AttentionProblem bent = crossing(relative);
  bent.distances = 5;
  for (const AttentionProblem& problem :
       {AttentionProblem{.config = plain, .training = true}, bent, crossing(small_attention(2))}) {
    const AttentionStep run(problem);
    const std::vector<std::vector<double>> want = run.exact(run.numbers()).weights;
    const auto& keys = problem.memory_starts.empty() ? problem.starts : problem.memory_starts;
    ThreadPool pool(2);
    for (std::size_t s = 0; s < want.size(); ++s) {
      const std::int64_t n = problem.starts[s + 1] - problem.starts[s], m = keys[s + 1] - keys[s];
      std::vector<float> got(want[s].size(), -1.0F);
      run.layer().weights(static_cast<std::int64_t>(s), {got.data(), {problem.config.heads, n, m}}, pool);
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[s][i], 2e-6) << s << ", " << i;
    }
  }
}

TEST(AttentionLayer, WeightsOfAnotherShapeAreRefusedWithBothShapes) {
  const AttentionStep run({.config = small_attention(3)});
  std::vector<float> room(3 * 5 * 4);
  ThreadPool pool(1);
  EXPECT_THAT(argument_error([&] { run.layer().weights(0, {room.data(), {3, 5, 4}}, pool); }),
              testing::AllOf(HasSubstr("3 x 5 x 5"), HasSubstr("3 x 5 x 4")));
}

// y = attention + add, and dx = gradient + add; both may be added in place.
TEST(AttentionLayer, AddsItsAddArgument) {
  Parameters parameters;
  const AttentionConfig config = small_attention(3);
  MultiHeadAttention layer(config, add_attention(parameters, "", config));
  test::fill(parameters);
  const std::vector<std::int64_t> starts = {0, 4, 9};
  const GappedRows x = GappedRows(9, 12).fill(1), dy = GappedRows(9, 12).fill(2);
  GappedRows y(9, 12), dx(9, 12), y_added = GappedRows(9, 12).fill(3), dx_added = GappedRows(9, 12).fill(4);
  const GappedRows y_before = y_added, dx_before = dx_added;
  ThreadPool pool(2);
  Scratch scratch;
  const LearnPass pass{.pool = pool, .scratch = scratch};
  layer.forward({x.view(), x.view(), {starts, starts}}, {}, y.view(), pass);
  layer.backward({dy.view(), {}, dx.view(), {}}, pass);
  layer.forward({x.view(), x.view(), {starts, starts}}, y_added.view(), y_added.view(), pass);
  layer.backward({dy.view(), dx_added.view(), dx_added.view(), {}}, pass);
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) {
      EXPECT_NEAR(y_added.at(i, j), y.at(i, j) + y_before.at(i, j), 1e-5);
      EXPECT_NEAR(dx_added.at(i, j), dx.at(i, j) + dx_before.at(i, j), 1e-5);
    }
  }
}

// Tables of rotations or distances made for other sequences must not be reused.
TEST(AttentionLayer, TablesAreRebuiltForOtherSequences) {
  for (const Relation relation : {Relation::rope, Relation::alibi, Relation::relative}) {
    AttentionConfig config = small_attention(2);
    config.relation = relation;
    if (relation == Relation::rope) config.rope = {.frequencies = rope_frequencies(100, 6)};
    const std::int64_t distances = relation == Relation::relative ? 5 : 0;
    Parameters parameters;
    const AttentionWeights weights = add_attention(parameters, "", config, 0, distances);
    test::fill(parameters);
    MultiHeadAttention used(config, weights), fresh(config, weights);
    const GappedRows x = GappedRows(10, 12).fill(1);
    GappedRows a(10, 12), b(10, 12);
    const std::vector<std::int64_t> before = {0, 7, 10}, after = {0, 2, 10};
    ThreadPool pool(1);
    Scratch scratch;
    const LearnPass pass{.pool = pool, .scratch = scratch};
    used.forward({x.view(), x.view(), {before, before}}, {}, a.view(), pass);
    used.forward({x.view(), x.view(), {after, after}}, {}, a.view(), pass);
    fresh.forward({x.view(), x.view(), {after, after}}, {}, b.view(), pass);
    EXPECT_TRUE(a.same_bits(b)) << static_cast<int>(relation);
  }
}

}  // namespace
}  // namespace attn::nn
