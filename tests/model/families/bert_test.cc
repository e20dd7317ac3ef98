// Variants of BERT's files. The golden tests check the numbers against transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "tests/model/families/small_model.h"

namespace attn::test {
namespace {

using model::Batch;
using model::Model;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<std::int32_t> kTypes = {0, 0, 0, 0, 1, 1, 1};

class BertFiles : public testing::Test {
 protected:
  std::vector<float> hidden(const Model& m, const Batch& batch = Batch(kSmallIds, kTypes)) {
    return numbers_of(m.encode(batch, {.pool = pool_}));
  }
  std::vector<float> hidden(const SmallModel& m) { return hidden(*m.load()); }
  std::vector<float> logits(const Model& m) {
    return numbers_of(m.logits(m.encode(Batch(kSmallIds, kTypes), {.pool = pool_}).view(), pool_));
  }
  std::vector<float> logits(const SmallModel& m) { return logits(*m.load()); }

  ThreadPool pool_{2};
};

TEST_F(BertFiles, ModelWithoutItsPrefixGivesTheSameBits) {
  SmallModel m = small_bert();
  const auto expected = hidden(m);
  const auto expected_logits = logits(m);
  m.rename("bert.", "");
  EXPECT_EQ(hidden(m), expected);
  EXPECT_EQ(logits(m), expected_logits);
}

TEST_F(BertFiles, NormsMayBeCalledGammaAndBetaAsInTheFirstFiles) {
  SmallModel m = small_bert();
  const auto expected = logits(m);
  m.rename("LayerNorm.weight", "LayerNorm.gamma");
  m.rename("LayerNorm.bias", "LayerNorm.beta");
  EXPECT_EQ(logits(m), expected);
}

TEST_F(BertFiles, UnusedTensorsAreIgnored) {
  SmallModel m = small_bert();
  const auto expected = hidden(m);
  m.add("bert.embeddings.position_ids", {1, 16});
  m.add("cls.seq_relationship.weight", {2, 12});
  EXPECT_EQ(hidden(m), expected);
}

TEST_F(BertFiles, DecoderThatIsACopyOfTheEmbeddingsChangesNothingAndAnotherOneDoes) {
  SmallModel m = small_bert();
  const auto expected = logits(m);
  m.tensors["cls.predictions.decoder.weight"] = m.tensors["bert.embeddings.word_embeddings.weight"];
  EXPECT_EQ(logits(m), expected);
  m.tensors["cls.predictions.decoder.weight"].numbers[0] += 1;
  EXPECT_NE(logits(m), expected);
}

TEST_F(BertFiles, HeadBiasMayHaveTheDecodersName) {
  SmallModel m = small_bert();
  const auto expected = logits(m);
  m.rename("cls.predictions.bias", "cls.predictions.decoder.bias");
  EXPECT_EQ(logits(m), expected);
}

TEST_F(BertFiles, FactsDescribeTheFile) {
  SmallModel m = small_bert();
  const auto with = m.load();
  EXPECT_TRUE(with->facts().has_logits);
  EXPECT_TRUE(with->facts().has_pooler);
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : m.tensors) numbers += static_cast<std::int64_t>(tensor.numbers.size());
  EXPECT_EQ(with->facts().parameters, numbers);
  EXPECT_GT(with->facts().bytes, 4 * numbers);

  std::erase_if(m.tensors,
                [](const auto& t) { return t.first.starts_with("cls.") || t.first.starts_with("bert.pooler"); });
  const auto without = m.load();
  EXPECT_FALSE(without->facts().has_pooler);
  const nn::Matrix states = without->encode(Batch(kSmallIds), {.pool = pool_});
  EXPECT_THAT([&] { static_cast<void>(without->logits(states.view(), pool_)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no language-model head")));
  EXPECT_THAT([&] { static_cast<void>(without->pooled(states.view(), pool_)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no pooler")));
}

TEST_F(BertFiles, ModelWithoutStoredOrTiedHeadHasNoLogits) {
  SmallModel m = small_bert();
  m.config["tie_word_embeddings"] = "false";
  EXPECT_FALSE(m.load()->facts().has_logits);
  m.tensors["cls.predictions.decoder.weight"] = m.tensors["bert.embeddings.word_embeddings.weight"];
  EXPECT_TRUE(m.load()->facts().has_logits);
}

TEST_F(BertFiles, ConcurrentThreadsGetTheSameLogits) {
  const auto m = small_bert().load();
  const nn::Matrix states = m->encode(Batch(kSmallIds), {.pool = pool_});
  std::vector<std::vector<float>> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) {
      threads.emplace_back([&] {
        ThreadPool own(1);
        result = numbers_of(m->logits(states.view(), own));
      });
    }
  }
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_EQ(results[0].size(), kSmallIds.size() * 20);
}

// A vocabulary this large is packed in parts. Words that are copies of the first ones must get the same logits at any
// index; all others differ clearly.
TEST_F(BertFiles, WordsOfALargeVocabularyHaveTheirOwnLogits) {
  constexpr std::int64_t kWords = 400'003, kWidth = 12;
  SmallModel m = small_bert();
  m.config["vocab_size"] = std::to_string(kWords);
  m.add("bert.embeddings.word_embeddings.weight", {kWords, kWidth});
  m.add("cls.predictions.bias", {kWords});
  auto& words = m.tensors["bert.embeddings.word_embeddings.weight"].numbers;
  auto& bias = m.tensors["cls.predictions.bias"].numbers;
  for (std::int64_t word = 1000; word < kWords; ++word) {
    std::copy_n(words.begin() + word % 1000 * kWidth, kWidth, words.begin() + word * kWidth);
    bias[static_cast<std::size_t>(word)] = bias[static_cast<std::size_t>(word % 1000)];
  }
  const auto loaded = m.load();
  const nn::Matrix states = loaded->encode(Batch(kSmallIds), {.pool = pool_});
  const nn::Matrix logits = loaded->logits(states.view(), pool_);
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < logits.rows(); ++i)
    for (std::int64_t word = 0; word < kWords; ++word) different += logits.row(i)[word] != logits.row(i)[word % 1000];
  EXPECT_EQ(different, 0);
  EXPECT_NE(logits.row(0)[0], logits.row(0)[1]);
}

TEST_F(BertFiles, TokenTypeOutOfRangeIsNamed) {
  const auto m = small_bert().load();
  EXPECT_THAT([&] { static_cast<void>(m->encode(Batch({1, 2}, {0, 2}), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("token type 2 is not one of the model's 2")));
}

TEST_F(BertFiles, RobertaWithOneTypeReadsAPairAsIfItHadNone) {
  SmallModel m = small_bert("roberta");
  m.config["type_vocab_size"] = "1";
  m.tensors["roberta.embeddings.token_type_embeddings.weight"] = {{1, 12}, std::vector<float>(12, 0.5F)};
  const auto loaded = m.load();
  EXPECT_EQ(hidden(*loaded, Batch(kSmallIds, kTypes)), hidden(*loaded, Batch(kSmallIds)));
}

TEST_F(BertFiles, RobertaPositionsStartAfterPadding) {
  SmallModel m = small_bert("roberta");
  m.config["pad_token_id"] = "3";
  const auto loaded = m.load();
  EXPECT_EQ(loaded->facts().max_tokens, 12);
  EXPECT_NO_THROW(static_cast<void>(loaded->encode(Batch(std::vector<std::int32_t>(12, 7)), {.pool = pool_})));
  EXPECT_THROW(static_cast<void>(loaded->encode(Batch(std::vector<std::int32_t>(13, 7)), {.pool = pool_})),
               std::invalid_argument);
  m.config["pad_token_id"] = "15";
  EXPECT_THAT(m.load_error(), AllOf(HasSubstr("max_position_embeddings is 16"), HasSubstr("= 16")));
}

class BertConfigRefused : public testing::TestWithParam<RefusedConfig> {};

TEST_P(BertConfigRefused, SaysWhatIsWrong) {
  SmallModel m = small_bert();
  m.config[GetParam().name] = GetParam().value;
  EXPECT_THAT(m.load_error(), AllOf(HasSubstr("config.json"), HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Options, BertConfigRefused,
    testing::Values(RefusedConfig{"position_embedding_type", "\"relative_key\"", "\"relative_key\" is not supported"},
                    RefusedConfig{"is_decoder", "true", "is_decoder true is not supported"},
                    RefusedConfig{"num_attention_heads", "5", "5 heads cannot share a width of 12 evenly"},
                    RefusedConfig{"num_attention_heads", "0", "num_attention_heads is 0"},
                    RefusedConfig{"hidden_size", "-12", "hidden_size is -12"},
                    RefusedConfig{"hidden_act", "\"mish\"", "activation \"mish\" is not one of gelu"},
                    RefusedConfig{"eos_token_id", "[1, 99999999999]", "eos_token_id is 99999999999"},
                    RefusedConfig{"hidden_size", "9223372036854775807", "hidden_size is 9223372036854775807"}));

TEST_F(BertFiles, TensorOfTheWrongShapeIsNamedWithBothShapes) {
  SmallModel m = small_bert();
  m.config["intermediate_size"] = "21";
  EXPECT_THAT(m.load_error(),
              AllOf(HasSubstr("encoder.layer.0.intermediate.dense.weight"), HasSubstr("20"), HasSubstr("21")));
}

}  // namespace
}  // namespace attn::test
