// tests/nn/block_test.cc - feed-forward layers and blocks: gradients against finite differences, with every option.
#include "nn/learn/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/nn/learning_support.h"
#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::add_dense;
using test::argument_error;
using test::GappedRows;
using test::Numbers;
using test::Table;
using testing::HasSubstr;

constexpr std::int64_t kBlockWidth = 8, kBlockInner = 11;

FeedForwardWeights add_feed(Parameters& to, bool gate) {
  FeedForwardWeights weights{.up = add_dense(to, "up", kBlockWidth, kBlockInner),
                             .down = add_dense(to, "down", kBlockInner, kBlockWidth),
                             .gate = {}};
  if (gate) weights.gate = add_dense(to, "gate", kBlockWidth, kBlockInner);
  return weights;
}

TEST(FeedForward, GradientsAreRightForEveryActivationWithAndWithoutAGate) {
  for (const bool gate : {false, true}) {
    for (const Activation f : test::kActivations) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(f) << (gate ? ", with a gate" : ""));
      Parameters parameters;
      FeedForward layer(add_feed(parameters, gate), f);
      test::fill(parameters);
      const GappedRows x = GappedRows(5, kBlockWidth).fill(1), dy = GappedRows(5, kBlockWidth).fill(2);
      GappedRows y(5, kBlockWidth), dx(5, kBlockWidth);
      ThreadPool pool(2);
      Scratch scratch;
      const LearnPass pass{.pool = pool, .scratch = scratch};
      layer.forward(x.view(), {}, y.view(), pass);
      layer.backward(dy.view(), {}, dx.view(), pass);

      Numbers numbers = test::numbers_of(parameters), gradients;
      numbers["x"] = test::table_of(x.view());
      test::add_gradients(gradients, parameters);
      gradients["x"] = test::table_of(dx.view());
      const auto exact = [&](const Numbers& n) { return test::exact_feed(n, "", f, n.at("x")); };
      EXPECT_LE(test::distance(test::table_of(y.view()), exact(numbers)), 5e-6);
      test::expect_slopes(
          numbers, [&](const Numbers& n) { return test::product(test::table_of(dy.view()), exact(n)); }, gradients);
    }
  }
}

TEST(FeedForward, MatricesThatDoNotFitAreRefusedWithBothNumbers) {
  Parameters parameters;
  FeedForwardWeights weights{
      .up = add_dense(parameters, "up", 8, 12), .down = add_dense(parameters, "down", 11, 8), .gate = {}};
  EXPECT_THAT(argument_error([&] { FeedForward(weights, Activation::gelu); }),
              testing::AllOf(HasSubstr("12"), HasSubstr("11")));
  weights.down = add_dense(parameters, "fitting", 12, 8);
  weights.gate = add_dense(parameters, "gate", 8, 11);
  EXPECT_THAT(argument_error([&] { FeedForward(weights, Activation::gelu); }), HasSubstr("gate"));
}

struct BlockProblem {
  BlockConfig config;
  bool cross = false, gate = false, centered = true, training = false;
  std::vector<std::int64_t> starts = {0, 4, 5, 9};
  std::vector<std::int64_t> memory_starts = {0, 2, 7, 8};
};

// A block with random parameters, run once forward and once backward.
class BlockStep {
 public:
  explicit BlockStep(const BlockProblem& problem, int threads = 2)
      : problem_(problem),
        block_(problem.config, add_weights()),
        x_(GappedRows(problem.starts.back(), kBlockWidth).fill(1)),
        memory_(GappedRows(problem.memory_starts.back(), kBlockWidth).fill(2)),
        dy_(GappedRows(x_.rows(), kBlockWidth).fill(3)),
        dx_(dy_),
        d_memory_(memory_.rows(), kBlockWidth),
        pool_(threads),
        pass_{.pool = pool_, .scratch = scratch_, .training = problem.training, .seed = 5} {
    test::fill(parameters_, 0.3F);
    for (std::int64_t i = 0; i < d_memory_.rows(); ++i)
      for (std::int64_t j = 0; j < kBlockWidth; ++j) d_memory_.at(i, j) = 0;
    BlockIn in{.x = x_.view(), .starts = problem_.starts};
    if (problem.cross) {
      in.memory = memory_.view();
      in.memory_starts = problem_.memory_starts;
    }
    y_ = test::table_of(block_.forward(in, pass_));
    block_.backward(dx_.view(), problem.cross ? d_memory_.view() : View<float, 2>{}, pass_);
  }

  void expect_right() const {
    Numbers numbers = test::numbers_of(parameters_);
    numbers["x"] = test::table_of(x_.view());
    numbers["memory"] = test::table_of(memory_.view());
    Numbers gradients;
    test::add_gradients(gradients, parameters_);
    gradients["x"] = test::table_of(dx_.view());
    if (problem_.cross) gradients["memory"] = test::table_of(d_memory_.view());
    const test::ExactBlock like{.name = "", .config = problem_.config, .norm = norm_, .cross = problem_.cross};
    const auto exact = [&](const Numbers& n) {
      return exact_block(n, like, {n.at("x"), n.at("memory"), problem_.starts, problem_.memory_starts}, pass_);
    };
    EXPECT_LE(test::distance(y_, exact(numbers)), 1e-5);
    test::expect_slopes(
        numbers, [&](const Numbers& n) { return test::product(test::table_of(dy_.view()), exact(n)); }, gradients);
  }
  [[nodiscard]] bool same_bits(const BlockStep& other) const {
    bool same = y_.numbers == other.y_.numbers && dx_.same_bits(other.dx_) && d_memory_.same_bits(other.d_memory_);
    for (std::size_t n = 0; n < parameters_.all().size(); ++n) {
      const Parameter &a = parameters_.all()[n], &b = other.parameters_.all()[n];
      same = same && std::equal(a.gradient.data(), a.gradient.data() + a.size(), b.gradient.data());
    }
    return same;
  }

 private:
  BlockWeights add_weights() {
    BlockWeights weights;
    weights.self = add_attention(parameters_, "self.", problem_.config.self);
    if (problem_.cross) weights.cross = add_attention(parameters_, "cross.", problem_.config.cross);
    weights.feed = add_feed(parameters_, problem_.gate);
    weights.self_norm = norm_ = test::add_norm(parameters_, "self_norm", kBlockWidth, problem_.centered);
    weights.feed_norm = test::add_norm(parameters_, "feed_norm", kBlockWidth, problem_.centered);
    if (problem_.cross) weights.cross_norm = test::add_norm(parameters_, "cross_norm", kBlockWidth, problem_.centered);
    return weights;
  }

  BlockProblem problem_;
  Parameters parameters_;
  Norm norm_;
  TransformerBlock block_;
  GappedRows x_, memory_, dy_, dx_, d_memory_;
  ThreadPool pool_;
  Scratch scratch_;
  LearnPass pass_;
  Table y_;
};

void expect_block_right(const BlockProblem& problem) {
  const BlockStep step(problem);
  step.expect_right();
  for (const int threads : {1, 3}) EXPECT_TRUE(step.same_bits(BlockStep(problem, threads))) << threads << " threads";
}

BlockConfig block_config(bool norm_first) {
  BlockConfig config;
  config.self = {.width = kBlockWidth, .heads = 2};
  config.cross = {.width = kBlockWidth, .heads = 4};
  config.norm_first = norm_first;
  config.place = 3;
  return config;
}

TEST(TransformerBlock, GradientsAreRightWhereTheNormComesFirstAndLast) {
  test::on_every_target([](const char* target) {
    for (const bool norm_first : {false, true}) {
      SCOPED_TRACE(testing::Message() << target << (norm_first ? ", norm first" : ", norm last"));
      expect_block_right({.config = block_config(norm_first)});
    }
  });
}

TEST(TransformerBlock, GradientsOfADecoderWithCrossAttentionAreRight) {
  for (const bool norm_first : {false, true}) {
    SCOPED_TRACE(norm_first);
    BlockConfig config = block_config(norm_first);
    config.self.mask = Causal{};
    expect_block_right({.config = config, .cross = true});
  }
}

// Every part drops different numbers, and attention different weights.
TEST(TransformerBlock, GradientsAreRightUnderDropout) {
  for (const bool norm_first : {false, true}) {
    SCOPED_TRACE(norm_first);
    BlockConfig config = block_config(norm_first);
    config.dropout = 0.3F;
    config.self.dropout = 0.2F;
    config.cross.dropout = 0.4F;
    expect_block_right({.config = config, .cross = true, .training = true});
  }
}

// As in Llama: RMS norm, a gate, rotary positions, shared key heads.
TEST(TransformerBlock, GradientsOfABlockLikeLlamasAreRight) {
  BlockConfig config = block_config(true);
  config.self = {.width = kBlockWidth, .heads = 4, .key_heads = 2, .mask = Causal{}};
  config.self.relation = Relation::rope;
  config.self.rope = {.frequencies = rope_frequencies(100, 2)};
  config.activation = Activation::silu;
  expect_block_right({.config = config, .gate = true, .centered = false});
}

TEST(TransformerBlock, ShowsItsAttentions) {
  Parameters parameters;
  BlockWeights weights;
  const BlockConfig config = block_config(true);
  weights.self = add_attention(parameters, "self.", config.self);
  weights.feed = add_feed(parameters, false);
  EXPECT_EQ(TransformerBlock(config, weights).cross(), nullptr);
  weights.cross = add_attention(parameters, "cross.", config.cross);
  const TransformerBlock block(config, weights);
  EXPECT_EQ(block.self().config().heads, 2);
  ASSERT_NE(block.cross(), nullptr);
  EXPECT_EQ(block.cross()->config().heads, 4);
  EXPECT_NE(block.self().config().place, block.cross()->config().place);
}

}  // namespace
}  // namespace attn::nn
