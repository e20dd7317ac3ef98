// Variants of BART's files. The golden tests check the numbers against transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/run/cache.h"
#include "tests/model/families/small_model.h"

namespace attn::test {
namespace {

using model::Batch;
using model::Cache;
using model::EncoderOutput;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::int32_t> kBartTarget = {2, 8, 8, 17};

// An encoder of two layers and a decoder of one, 16 wide, for at most 8 tokens.
SmallModel small_bart() {
  SmallModel m;
  m.config = {{"model_type", "\"bart\""},
              {"d_model", "16"},
              {"encoder_layers", "2"},
              {"decoder_layers", "1"},
              {"encoder_attention_heads", "2"},
              {"decoder_attention_heads", "4"},
              {"encoder_ffn_dim", "20"},
              {"decoder_ffn_dim", "24"},
              {"vocab_size", "20"},
              {"max_position_embeddings", "8"}};
  constexpr std::int64_t kWidth = 16;
  m.add("model.shared.weight", {20, kWidth});
  m.add("final_logits_bias", {1, 20});
  for (const bool decoder : {false, true}) {
    const std::string stack = decoder ? "model.decoder." : "model.encoder.";
    m.add(stack + "embed_positions.weight", {8 + 2, kWidth});
    m.add_norm(stack + "layernorm_embedding", kWidth);
    for (int i = 0; i < (decoder ? 1 : 2); ++i) {
      const std::string layer = stack + "layers." + std::to_string(i) + ".";
      const auto attention = [&](const std::string& name) {
        for (const char* part : {".q_proj", ".k_proj", ".v_proj", ".out_proj"}) {
          m.add_linear(layer + name + part, kWidth, kWidth);
        }
        m.add_norm(layer + name + "_layer_norm", kWidth);
      };
      attention("self_attn");
      if (decoder) attention("encoder_attn");
      const std::int64_t wide = decoder ? 24 : 20;
      m.add_linear(layer + "fc1", kWidth, wide);
      m.add_linear(layer + "fc2", wide, kWidth);
      m.add_norm(layer + "final_layer_norm", kWidth);
    }
  }
  return m;
}

class BartFiles : public EncoderDecoderFiles {
 protected:
  BartFiles() : EncoderDecoderFiles(kSmallIds, kBartTarget) {}
};

TEST_F(BartFiles, ModelWithoutItsPrefixGivesTheSameBits) {
  SmallModel m = small_bart();
  const auto expected = logits(m);
  m.rename("model.", "");
  EXPECT_EQ(logits(m), expected);
}

TEST_F(BartFiles, SharedTableIsFoundUnderAnyOfItsNames) {
  const auto expected = logits(small_bart());
  for (const char* name :
       {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"}) {
    SmallModel m = small_bart();
    m.rename("model.shared.weight", name);
    EXPECT_EQ(logits(m), expected) << name;
  }
}

TEST_F(BartFiles, MissingLogitsBiasIsZero) {
  SmallModel m = small_bart();
  const auto biased = logits(m);
  m.tensors["final_logits_bias"].numbers.assign(20, 0);
  const auto expected = logits(m);
  EXPECT_NE(biased, expected);
  m.tensors.erase("final_logits_bias");
  EXPECT_EQ(logits(m), expected);
}

TEST_F(BartFiles, ModelWithoutStoredOrTiedHeadHasNoLogits) {
  SmallModel m = small_bart();
  m.config["tie_word_embeddings"] = "false";
  EXPECT_FALSE(m.load()->facts().has_logits);
  m.tensors["lm_head.weight"] = m.tensors["model.shared.weight"];
  EXPECT_TRUE(m.load()->facts().has_logits);
}

// The factor is sqrt(16), which is exact: equal to a table of 4 times the values.
TEST_F(BartFiles, ScaledEmbeddingsEqualALargerTable) {
  SmallModel m = small_bart();
  m.tensors["lm_head.weight"] = m.tensors["model.shared.weight"];
  m.config["scale_embedding"] = "true";
  const auto expected = logits(m);
  m.config["scale_embedding"] = "false";
  EXPECT_NE(logits(m), expected);
  for (float& x : m.tensors["model.shared.weight"].numbers) x *= 4;
  EXPECT_EQ(logits(m), expected);
}

TEST_F(BartFiles, FirstTwoPositionsAreNeverUsed) {
  SmallModel m = small_bart();
  const auto expected = logits(m);
  for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"}) {
    std::fill_n(m.tensors[name].numbers.begin(), 2 * 16, 1e9F);
  }
  EXPECT_EQ(logits(m), expected);
}

TEST_F(BartFiles, TextEndsWherePositionsDo) {
  const auto m = small_bart().load();
  const EncoderOutput memory = read(*m);
  EXPECT_EQ(m->facts().max_tokens, 8);
  EXPECT_THROW(static_cast<void>(m->encode(Batch(std::vector<std::int32_t>(9, 4)), {.pool = pool_})),
               std::invalid_argument);
  Cache cache;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(m->decode(Batch({4}), {.pool = pool_, .cache = &cache, .memory = &memory}).rows(), 1);
  }
  EXPECT_THROW(static_cast<void>(m->decode(Batch({4}), {.pool = pool_, .cache = &cache, .memory = &memory})),
               std::invalid_argument);
}

TEST_F(BartFiles, FactsDescribeBothStacksAndHaveTheFamilysDefaults) {
  const auto facts = small_bart().load()->facts();
  EXPECT_EQ(facts.layers, 2);
  EXPECT_EQ(facts.decoder_layers, 1);
  EXPECT_EQ(facts.heads.heads, 2);
  EXPECT_EQ(facts.decoder_heads.heads, 4);
  EXPECT_EQ(facts.decoder_heads.width, 4);
  EXPECT_EQ(facts.pad, 1);
  EXPECT_EQ(facts.eos, std::vector<std::int32_t>{2});
  EXPECT_EQ(facts.decoder_start, 2);
}

class BartConfigRefused : public testing::TestWithParam<RefusedConfig> {};

TEST_P(BartConfigRefused, SaysWhatIsWrong) {
  SmallModel m = small_bart();
  m.config[GetParam().name] = GetParam().value;
  EXPECT_THAT(m.load_error(), AllOf(HasSubstr("config.json"), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(Options, BartConfigRefused,
                         testing::Values(RefusedConfig{"decoder_attention_heads", "5",
                                                       "5 heads cannot share a width of 16 evenly"},
                                         RefusedConfig{"encoder_layers", "0", "encoder_layers is 0"},
                                         RefusedConfig{"activation_function", "\"mish\"", "activation \"mish\""}));

TEST(BartTensors, PositionsOfTheWrongShapeAreRefusedWithBothShapes) {
  SmallModel m = small_bart();
  m.config["max_position_embeddings"] = "12";
  EXPECT_THAT(m.load_error(), AllOf(HasSubstr("embed_positions.weight"), HasSubstr("10"), HasSubstr("14")));
}

}  // namespace
}  // namespace attn::test
