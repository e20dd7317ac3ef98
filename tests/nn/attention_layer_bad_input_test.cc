// tests/nn/attention_layer_bad_input_test.cc - invalid configurations of layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "nn/learn/attention_layer.h"
#include "tests/nn/learning_support.h"
#include "tests/support/errors.h"

namespace attn::nn {
namespace {

using test::argument_error;
using test::GappedRows;
using test::small_attention;
using testing::HasSubstr;

TEST(AttentionLayer, WidthThatHeadsDoNotDivideIsRefusedWithBothNumbers) {
  Parameters parameters;
  const AttentionConfig config{.width = 100, .heads = 7};
  EXPECT_THAT(argument_error([&] { add_attention(parameters, "", config); }),
              testing::AllOf(HasSubstr("100"), HasSubstr("7 heads")));
  EXPECT_THAT(argument_error([&] { MultiHeadAttention(config, {}); }),
              testing::AllOf(HasSubstr("100"), HasSubstr("7 heads")));
  EXPECT_THAT(argument_error([] { return AttentionConfig{.width = 12, .heads = 6, .key_heads = 4}.head_width(); }),
              testing::AllOf(HasSubstr("6 heads"), HasSubstr("4 key heads")));
}

TEST(AttentionLayer, MatricesAndTablesOfOtherShapesAreRefused) {
  Parameters parameters;
  const AttentionConfig config = small_attention(3), wider{.width = 18, .heads = 3};
  const AttentionWeights weights = add_attention(parameters, "", config, 0, 5);
  EXPECT_THAT(argument_error([&] { MultiHeadAttention(wider, weights); }), HasSubstr("q leads from 12 to 12"));
  EXPECT_THAT(argument_error([&] { MultiHeadAttention(config, weights); }), HasSubstr("nothing asks for"));
  AttentionConfig relative = config;
  relative.relation = Relation::relative;
  AttentionWeights without = weights;
  without.relation = {};
  EXPECT_THAT(argument_error([&] { MultiHeadAttention(relative, without); }), HasSubstr("need a table"));
  AttentionWeights of_others = weights;
  of_others.relation = parameters.matrix("other", 5, 4);
  EXPECT_THAT(argument_error([&] { MultiHeadAttention(relative, of_others); }),
              testing::AllOf(HasSubstr("4 heads"), HasSubstr("there are 3")));
  AttentionConfig rope = config;
  rope.relation = Relation::rope;
  rope.rope.frequencies = {1, 1, 1};
  AttentionWeights plain = weights;
  plain.relation = {};
  EXPECT_THAT(argument_error([&] { MultiHeadAttention(rope, plain); }), HasSubstr("3 pairs"));
}

TEST(CrossAttentionLayer, RefusesRotaryPositions) {
  Parameters parameters;
  AttentionConfig config = small_attention(2);
  config.relation = Relation::rope;
  config.rope = {.frequencies = rope_frequencies(100, 6)};
  const AttentionWeights weights = add_attention(parameters, "", config);
  MultiHeadAttention layer(config, weights);
  const std::vector<std::int64_t> starts = {0, 4};
  const GappedRows x = GappedRows(4, 12).fill(1), memory = GappedRows(4, 12).fill(2);
  GappedRows y(4, 12);
  ThreadPool pool(1);
  Scratch scratch;
  const LearnPass pass{.pool = pool, .scratch = scratch};
  EXPECT_THAT(argument_error([&] { layer.forward({x.view(), memory.view(), {starts, starts}}, {}, y.view(), pass); }),
              HasSubstr("rotary"));
}

}  // namespace
}  // namespace attn::nn
