// Variants of GPT-2's files. The golden tests check the numbers against transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/families/small_model.h"

namespace attn::test {
namespace {

using model::Batch;
using testing::AllOf;
using testing::HasSubstr;

class Gpt2Files : public testing::Test {
 protected:
  std::vector<float> logits(const SmallModel& small) {
    const auto m = small.load();
    return numbers_of(m->logits(m->decode(Batch(kSmallIds), {.pool = pool_}).view(), pool_));
  }

  ThreadPool pool_{2};
};

TEST_F(Gpt2Files, ModelWithoutItsPrefixAndWithOldBuffersGivesTheSameBits) {
  SmallModel m = small_gpt2();
  const auto expected = logits(m);
  m.rename("transformer.", "");
  m.add("h.0.attn.bias", {1, 1, 16, 16});
  m.add("h.0.attn.masked_bias", {});
  EXPECT_EQ(logits(m), expected);
}

TEST_F(Gpt2Files, HeadThatIsACopyOfTheEmbeddingsChangesNothingAndAnotherOneDoes) {
  SmallModel m = small_gpt2();
  const auto expected = logits(m);
  m.tensors["lm_head.weight"] = m.tensors["transformer.wte.weight"];
  m.config["tie_word_embeddings"] = "false";
  EXPECT_EQ(logits(m), expected);
  m.tensors["lm_head.weight"].numbers[0] += 1;
  EXPECT_NE(logits(m), expected);
}

TEST_F(Gpt2Files, ModelWithoutStoredOrTiedHeadHasNoLogits) {
  SmallModel m = small_gpt2();
  m.config["tie_word_embeddings"] = "false";
  const auto loaded = m.load();
  EXPECT_FALSE(loaded->facts().has_logits);
  const nn::Matrix states = loaded->decode(Batch(kSmallIds), {.pool = pool_});
  EXPECT_THROW(static_cast<void>(loaded->logits(states.view(), pool_)), std::invalid_argument);
}

// Queries of layer l that are l + 1 times as large undo the option; 2 is exact in float.
TEST_F(Gpt2Files, ScoresDividedByTheLayersNumberEqualSmallerQueries) {
  SmallModel m = small_gpt2();
  const auto expected = logits(m);
  m.config["scale_attn_by_inverse_layer_idx"] = "true";
  EXPECT_NE(logits(m), expected);
  auto& weight = m.tensors["transformer.h.1.attn.c_attn.weight"].numbers;
  auto& bias = m.tensors["transformer.h.1.attn.c_attn.bias"].numbers;
  for (std::size_t i = 0; i < weight.size(); ++i)
    if (i % 36 < 12) weight[i] *= 2;
  for (std::size_t i = 0; i < 12; ++i) bias[i] *= 2;
  EXPECT_EQ(logits(m), expected);
}

TEST_F(Gpt2Files, NullsInTheConfigurationMeanNone) {
  SmallModel m = small_gpt2();
  const auto expected = logits(m);
  m.config["n_inner"] = m.config["bos_token_id"] = m.config["eos_token_id"] = "null";
  EXPECT_EQ(logits(m), expected);
  EXPECT_EQ(m.load()->facts().bos, -1);
  EXPECT_TRUE(m.load()->facts().eos.empty());
}

class Gpt2ConfigRefused : public testing::TestWithParam<RefusedConfig> {};

TEST_P(Gpt2ConfigRefused, SaysWhatIsWrong) {
  SmallModel m = small_gpt2();
  m.config[GetParam().name] = GetParam().value;
  EXPECT_THAT(m.load_error(), AllOf(HasSubstr("config.json"), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(Options, Gpt2ConfigRefused,
                         testing::Values(RefusedConfig{"add_cross_attention", "true", "add_cross_attention true"},
                                         RefusedConfig{"n_head", "5", "5 heads cannot share a width of 12 evenly"},
                                         RefusedConfig{"n_layer", "0", "n_layer is 0"},
                                         RefusedConfig{"activation_function", "\"mish\"", "activation \"mish\""}));

}  // namespace
}  // namespace attn::test
