// tests/model/families/llama_test.cc - how Llama, Mistral and Qwen2 read config.json. golden_models_test.cc checks
// their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "attn/error.h"
#include "model/families/families.h"

namespace attn::model {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json small(const std::string& type) {
  return {{"model_type", type},       {"hidden_size", 64},          {"intermediate_size", 96},
          {"num_hidden_layers", 3},   {"num_attention_heads", 8},   {"vocab_size", 100},
          {"bos_token_id", 1},        {"eos_token_id", {2, 7}},     {"max_position_embeddings", 128},
          {"num_key_value_heads", 2}, {"tie_word_embeddings", true}};
}

Facts facts_of(const json& config) { return llama_facts(Config::parse(config.dump(), "config.json")); }

std::string facts_message(const json& config) {
  try {
    facts_of(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Llama, FactsComeFromTheConfiguration) {
  const Facts facts = facts_of(small("llama"));
  EXPECT_EQ(facts.type, "llama");
  EXPECT_EQ(facts.form, Form::decoder);
  EXPECT_EQ(facts.layers, 3);
  EXPECT_EQ(facts.width, 64);
  EXPECT_EQ(facts.heads.heads, 8);
  EXPECT_EQ(facts.heads.key_heads, 2);
  EXPECT_EQ(facts.heads.width, 8);
  EXPECT_EQ(facts.vocabulary, 100);
  EXPECT_EQ(facts.max_tokens, 0);  // rotary positions have no limit
  EXPECT_EQ(facts.trained_tokens, 128);
  EXPECT_EQ(facts.bos, 1);
  EXPECT_EQ(facts.pad, -1);
  EXPECT_THAT(facts.eos, ElementsAre(2, 7));
}

TEST(Llama, HeadsMayHaveTheirOwnWidthAndKeys) {
  json config = small("mistral");
  config["head_dim"] = 20;
  config["num_key_value_heads"] = nullptr;
  const Facts facts = facts_of(config);
  EXPECT_EQ(facts.heads.width, 20);
  EXPECT_EQ(facts.heads.key_heads, 8);
}

TEST(Llama, HeadsThatDoNotDivideAreAnErrorWithBothNumbers) {
  json config = small("llama");
  config["num_key_value_heads"] = 3;
  EXPECT_THAT(facts_message(config), HasSubstr("8 query heads cannot share 3 key heads"));
  config = small("llama");
  config["num_attention_heads"] = 6;
  EXPECT_THAT(facts_message(config), HasSubstr("6 heads cannot share a width of 64"));
  config = small("llama");
  config["head_dim"] = 1024;
  EXPECT_THAT(facts_message(config), HasSubstr("head_dim is 1024; at most 512"));
}

TEST(Llama, LayerTypesMustFitTheLayers) {
  json config = small("qwen2");
  config["use_sliding_window"] = true;
  config["sliding_window"] = 4;
  config["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_THAT(facts_message(config), HasSubstr("layer_types lists 2 layers, but the model has 3"));
  config["layer_types"] = {"full_attention", "sliding_attention", "chunked_attention"};
  EXPECT_THAT(facts_message(config), HasSubstr("'chunked_attention'; expected full_attention or sliding_attention"));
  config["layer_types"] = {"full_attention", "sliding_attention", "full_attention"};
  EXPECT_EQ(facts_message(config), "no error");
}

TEST(Llama, EmptyWindowIsAnError) {
  json config = small("mistral");
  config["sliding_window"] = 0;
  EXPECT_THAT(facts_message(config), HasSubstr("sliding_window is 0"));
  config["sliding_window"] = nullptr;
  EXPECT_EQ(facts_message(config), "no error");
}

}  // namespace
}  // namespace attn::model
