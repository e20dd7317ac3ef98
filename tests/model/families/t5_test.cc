// Variants of T5's files. The golden tests check the numbers against transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/run/cache.h"
#include "tests/model/families/small_model.h"

namespace attn::test {
namespace {

using model::Batch;
using model::Cache;
using model::EncoderOutput;
using model::Form;
using testing::AllOf;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

const std::vector<std::int32_t> kT5Target = {0, 8, 8, 17};

// Two layers of three heads of 4, so that all heads together are narrower than the model's 16; 1 / sqrt(16) is exact in
// float.
SmallModel small_t5(const std::string& model_type = "t5") {
  SmallModel m;
  m.config = {{"model_type", '"' + model_type + '"'},
              {"d_model", "16"},
              {"d_kv", "4"},
              {"d_ff", "20"},
              {"num_layers", "2"},
              {"num_heads", "3"},
              {"vocab_size", "20"},
              {"feed_forward_proj", "\"relu\""}};
  constexpr std::int64_t kWidth = 16, kHeads = 3, kInner = 12, kWide = 20;
  m.add("shared.weight", {20, kWidth});
  for (const std::string stack : {"encoder", "decoder"}) {
    for (const std::string block : {"0", "1"}) {
      std::string layer = stack + ".block." + block + ".layer.0.";
      const auto attention = [&](const std::string& name) {
        m.add(layer + "layer_norm.weight", {kWidth});
        for (const char* part : {".q.weight", ".k.weight", ".v.weight"}) m.add(layer + name + part, {kInner, kWidth});
        m.add(layer + name + ".o.weight", {kWidth, kInner});
      };
      attention("SelfAttention");
      if (block == "0") m.add(layer + "SelfAttention.relative_attention_bias.weight", {32, kHeads});
      layer = stack + ".block." + block + ".layer.1.";
      if (stack == "decoder") {
        attention("EncDecAttention");
        layer = stack + ".block." + block + ".layer.2.";
      }
      m.add(layer + "layer_norm.weight", {kWidth});
      m.add(layer + "DenseReluDense.wi.weight", {kWide, kWidth});
      m.add(layer + "DenseReluDense.wo.weight", {kWidth, kWide});
    }
    m.add(stack + ".final_layer_norm.weight", {kWidth});
  }
  return m;
}

class T5Files : public EncoderDecoderFiles {
 protected:
  T5Files() : EncoderDecoderFiles(kSmallIds, kT5Target) {}
};

TEST_F(T5Files, SharedTableIsFoundUnderAnyOfItsNames) {
  const auto expected = logits(small_t5());
  for (const char* name : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"}) {
    SmallModel m = small_t5();
    m.rename("shared.weight", name);
    EXPECT_EQ(logits(m), expected) << name;
  }
}

TEST_F(T5Files, HeadThatIsACopyOfTheEmbeddingsChangesNothingAndAnotherOneDoes) {
  SmallModel m = small_t5();
  const auto expected = logits(m);
  m.tensors["lm_head.weight"] = m.tensors["shared.weight"];
  EXPECT_EQ(logits(m), expected);
  m.tensors["lm_head.weight"].numbers[0] += 1;
  EXPECT_NE(logits(m), expected);
}

TEST_F(T5Files, StackWithItsOwnTableUsesIt) {
  SmallModel m = small_t5();
  const auto expected = numbers_of(read(*m.load()).hidden);
  m.tensors["decoder.embed_tokens.weight"] = m.tensors["shared.weight"];
  m.tensors["decoder.embed_tokens.weight"].numbers[0] += 1;
  EXPECT_EQ(numbers_of(read(*m.load()).hidden), expected);
  m.tensors["encoder.embed_tokens.weight"] = m.tensors["shared.weight"];
  m.tensors["encoder.embed_tokens.weight"].numbers[16 * 3] += 1;
  EXPECT_NE(numbers_of(read(*m.load()).hidden), expected);
}

TEST_F(T5Files, ModelBelowAClassifierGivesTheSameBits) {
  SmallModel m = small_t5();
  const auto expected = logits(m);
  m.rename("encoder.", "transformer.encoder.");
  m.rename("decoder.", "transformer.decoder.");
  m.rename("shared.", "transformer.shared.");
  EXPECT_EQ(logits(m), expected);
}

// Scaled by 1 / sqrt(16), as in T5 1.0. Newer files have a setting of their own for it; in older ones it follows from
// whether the tables are tied.
TEST_F(T5Files, LogitsAreScaledIfTheFileSaysSo) {
  const auto logits_with = [&](const std::string& type, std::map<std::string, std::string> more) {
    SmallModel m = small_t5(type);
    m.config.merge(more);
    return logits(m);
  };
  const auto scaled = logits_with("t5", {});
  std::vector<float> plain = scaled;
  for (float& x : plain) x *= 4;
  EXPECT_EQ(logits_with("t5", {{"tie_word_embeddings", "true"}}), scaled);
  EXPECT_EQ(logits_with("t5", {{"tie_word_embeddings", "false"}}), plain);
  EXPECT_EQ(logits_with("t5", {{"tie_word_embeddings", "true"}, {"scale_decoder_outputs", "false"}}), plain);
  EXPECT_EQ(logits_with("mt5", {{"tie_word_embeddings", "true"}}), plain);
}

TEST_F(T5Files, ModelWithoutADecoderIsAnEncoder) {
  const SmallModel whole = small_t5();
  SmallModel half = small_t5();
  std::erase_if(half.tensors, [](const auto& named) { return named.first.starts_with("decoder."); });
  for (const char* said : {"true", "false"}) {
    half.config["is_encoder_decoder"] = said;
    const auto m = half.load();
    EXPECT_EQ(m->facts().form, Form::encoder);
    EXPECT_EQ(m->facts().decoder_layers, 0);
    EXPECT_FALSE(m->facts().has_logits);
    const EncoderOutput memory = read(*m);
    EXPECT_EQ(numbers_of(memory.hidden), numbers_of(read(*whole.load()).hidden));
    EXPECT_THROW(static_cast<void>(m->decode(Batch(kT5Target), {.pool = pool_, .memory = &memory})),
                 std::invalid_argument);
  }
}

TEST_F(T5Files, FactsHaveTheFamilysDefaults) {
  SmallModel m = small_t5();
  auto facts = m.load()->facts();
  EXPECT_EQ(facts.pad, 0);
  EXPECT_EQ(facts.eos, std::vector<std::int32_t>{1});
  EXPECT_EQ(facts.decoder_start, 0);
  EXPECT_EQ(facts.decoder_layers, 2);
  EXPECT_EQ(facts.max_tokens, 0);
  m.config["pad_token_id"] = "7";
  m.config["num_decoder_layers"] = "1";
  facts = m.load()->facts();
  EXPECT_EQ(facts.decoder_start, 7);  // T5 starts with padding
  EXPECT_EQ(facts.decoder_layers, 1);
  m.config["decoder_start_token_id"] = "5";
  EXPECT_EQ(m.load()->facts().decoder_start, 5);
}

TEST_F(T5Files, PlainGeluIsNotTheApproximationThatGatedGeluIs) {
  SmallModel m = small_t5();
  m.config["feed_forward_proj"] = "\"gelu\"";
  const auto exact = logits(m);
  m.config["feed_forward_proj"] = "\"gelu_new\"";
  const auto approximate = logits(m);
  EXPECT_NE(exact, approximate);
  EXPECT_THAT(exact, Pointwise(FloatNear(0.01F), approximate));

  // A gate that is the same matrix: wo (f(x) * x).
  for (const std::string layer :
       {"encoder.block.0.layer.1", "encoder.block.1.layer.1", "decoder.block.0.layer.2", "decoder.block.1.layer.2"}) {
    const std::string wi = layer + ".DenseReluDense.wi";
    m.tensors[wi + "_0.weight"] = m.tensors[wi + "_1.weight"] = m.tensors[wi + ".weight"];
    m.tensors.erase(wi + ".weight");
  }
  m.config["feed_forward_proj"] = "\"gated-gelu\"";
  const auto gated = logits(m);
  m.config["feed_forward_proj"] = "\"gated-gelu_new\"";
  EXPECT_EQ(logits(m), gated);
}

// The first pass with a cache projects the encoder's memory; later passes do not read it again.
TEST_F(T5Files, CachedDecoderReadsTheMemoryOnce) {
  const auto m = small_t5().load();
  EncoderOutput memory = read(*m);
  const auto all = numbers_of(m->decode(Batch(kT5Target), {.pool = pool_, .memory = &memory}));
  Cache cache;
  std::vector<float> stepwise;
  for (const std::int32_t id : kT5Target) {
    const nn::Matrix row = m->decode(Batch({id}), {.pool = pool_, .cache = &cache, .memory = &memory});
    stepwise.insert(stepwise.end(), row.data(), row.data() + row.columns());
    for (std::int64_t c = 0; c < memory.hidden.columns(); ++c) memory.hidden.row(0)[c] = 100;
  }
  EXPECT_THAT(stepwise, Pointwise(FloatNear(1e-5F), all));
}

class T5ConfigRefused : public testing::TestWithParam<RefusedConfig> {};

TEST_P(T5ConfigRefused, SaysWhatIsWrong) {
  SmallModel m = small_t5();
  m.config[GetParam().name] = GetParam().value;
  EXPECT_THAT(m.load_error(), AllOf(HasSubstr("config.json"), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(Options, T5ConfigRefused,
                         testing::Values(RefusedConfig{"num_heads", "0", "num_heads is 0"},
                                         RefusedConfig{"d_kv", "513", "513 wide; at most 512"},
                                         RefusedConfig{"feed_forward_proj", "\"gated-mish\"", "activation \"mish\""},
                                         RefusedConfig{"relative_attention_num_buckets", "2", "buckets"},
                                         RefusedConfig{"relative_attention_max_distance", "4", "max_distance"}));

TEST(T5Tensors, MissingBucketTableIsNamed) {
  SmallModel m = small_t5();
  m.tensors.erase("decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  EXPECT_THAT(m.load_error(), HasSubstr("decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"));
}

TEST(T5Tensors, MissingEmbeddingsAreNamed) {
  SmallModel m = small_t5();
  m.tensors.erase("shared.weight");
  EXPECT_THAT(m.load_error(), HasSubstr("shared.weight"));
}

TEST(T5Tensors, MatricesOfTheWrongShapeAreRefusedWithBothShapes) {
  SmallModel m = small_t5();
  m.config["d_kv"] = "5";
  EXPECT_THAT(m.load_error(), AllOf(HasSubstr("SelfAttention.q.weight"), HasSubstr("12"), HasSubstr("15")));
}

}  // namespace
}  // namespace attn::test
