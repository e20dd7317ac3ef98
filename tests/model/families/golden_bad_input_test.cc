// tests/model/families/golden_bad_input_test.cc - errors for invalid folders, texts and passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/error.h"
#include "model/run/cache.h"
#include "tests/model/families/golden_support.h"
#include "tests/support/temporary_folder.h"

namespace attn::test {
namespace {

using model::Batch;
using model::Model;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class BadFolder : public testing::Test {
 protected:
  // A copy of a golden model with changed values in its configuration.
  void copy(const std::string& name, const json& changes = json::object()) {
    const GoldenModel golden(name);
    std::filesystem::copy_file(golden.folder() / "model.safetensors", folder_ / "model.safetensors");
    json config = json::parse(std::ifstream(golden.folder() / "config.json"));
    config.update(changes);
    folder_.write("config.json", config.dump());
  }
  void load() { static_cast<void>(model::load_model(folder_.path())); }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
};

TEST_F(BadFolder, UnknownModelTypeListsTheKnownOnes) {
  copy("bert", {{"model_type", "rwkv"}});
  EXPECT_THAT([&] { load(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("'rwkv'"), HasSubstr("bert, "), HasSubstr("llama, "),
                                         HasSubstr("t5, "), Not(HasSubstr("\n")))));
  for (const std::string_view type : model::known_types()) {
    EXPECT_THAT([&] { load(); }, ThrowsMessage<Error>(HasSubstr(std::string(type))));
  }
}

TEST_F(BadFolder, ConfigurationThatDisagreesWithTheWeightsNamesBothShapes) {
  copy("bert", {{"intermediate_size", 80}});  // 72 in the file
  EXPECT_THAT([&] { load(); }, ThrowsMessage<Error>(AllOf(HasSubstr("intermediate"), HasSubstr("72"), HasSubstr("80"),
                                                          Not(HasSubstr("\n")))));
}

TEST_F(BadFolder, VocabularyThatDisagreesWithTheWeightsNamesBothSizes) {
  for (const char* name : {"bert", "gpt2", "t5", "bart"}) {
    SCOPED_TRACE(name);
    std::filesystem::remove(folder_ / "model.safetensors");
    copy(name, {{"vocab_size", 12345}});
    const auto vocabulary = model::read_facts(GoldenModel(name).folder()).vocabulary;
    EXPECT_THAT([&] { load(); },
                ThrowsMessage<Error>(AllOf(HasSubstr("12345"), HasSubstr(std::to_string(vocabulary)))));
  }
}

TEST_F(BadFolder, MoreLayersThanTheFileHasNamesTheMissingTensor) {
  copy("llama", {{"num_hidden_layers", 3}});
  EXPECT_THAT([&] { load(); }, ThrowsMessage<Error>(HasSubstr("layers.2.")));
}

TEST_F(BadFolder, PytorchFileAloneExplainsHowToConvertIt) {
  copy("bert");
  std::filesystem::remove(folder_ / "model.safetensors");
  folder_.write("pytorch_model.bin", "PK");
  EXPECT_THAT([&] { load(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("pytorch_model.bin"), HasSubstr("save"), HasSubstr("safetensors"))));
}

TEST_F(BadFolder, FolderWithoutWeightsNamesTheFileThatIsMissing) {
  copy("bert");
  std::filesystem::remove(folder_ / "model.safetensors");
  EXPECT_THAT([&] { load(); }, ThrowsMessage<Error>(HasSubstr("model.safetensors")));
}

TEST_F(BadFolder, MissingFolderIsReported) {
  EXPECT_THAT([&] { static_cast<void>(model::load_model(folder_ / "nowhere")); },
              ThrowsMessage<Error>(HasSubstr("nowhere")));
}

class BadPass : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Model> load(const std::string& name) { return GoldenModel(name).load(); }
  static Batch text(std::int64_t length) {
    return Batch(std::vector<std::int32_t>(static_cast<std::size_t>(length), 7));
  }

  ThreadPool pool_{1};
};

TEST_F(BadPass, TextLongerThanTheModelNamesBothLengths) {
  for (const char* name : {"bert", "roberta", "distilbert", "gpt2", "bart"}) {
    SCOPED_TRACE(name);
    const auto model = load(name);
    const std::int64_t most = model->facts().max_tokens;
    ASSERT_GT(most, 0);
    EXPECT_EQ(model->read(text(most), {.pool = pool_}).rows(), most);
    EXPECT_THAT([&] { static_cast<void>(model->read(text(most + 1), {.pool = pool_})); },
                ThrowsMessage<std::invalid_argument>(
                    AllOf(HasSubstr(std::to_string(most)), HasSubstr(std::to_string(most + 1)))));
  }
}

TEST_F(BadPass, RotaryAndRelativePositionsHaveNoLimit) {
  for (const char* name : {"t5", "llama", "llama-dynamic", "mistral"}) {
    SCOPED_TRACE(name);
    const auto model = load(name);
    EXPECT_EQ(model->facts().max_tokens, 0);
    EXPECT_EQ(model->read(text(300), {.pool = pool_}).rows(), 300);
  }
}

TEST_F(BadPass, CacheCountsWhatItHasSeen) {
  const auto model = load("gpt2");
  model::Cache cache;
  static_cast<void>(model->decode(text(79), {.pool = pool_, .cache = &cache}));
  EXPECT_THAT([&] { static_cast<void>(model->decode(text(2), {.pool = pool_, .cache = &cache})); },
              ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("81"), HasSubstr("80"))));
  EXPECT_EQ(cache.seen(), 79);
  EXPECT_EQ(model->decode(text(1), {.pool = pool_, .cache = &cache}).rows(), 1);
}

TEST_F(BadPass, IdBeyondTheVocabularyIsNamed) {
  const auto model = load("t5");
  const auto beyond = static_cast<std::int32_t>(model->facts().vocabulary);
  EXPECT_THAT([&] { static_cast<void>(model->encode(Batch({1, beyond}), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr(std::to_string(beyond))));
  EXPECT_THAT([&] { static_cast<void>(model->encode(Batch({1, -1}), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("-1")));
}

TEST_F(BadPass, TokenTypeThatTheModelDoesNotHaveIsNamed) {
  const auto model = load("bert");
  EXPECT_THAT([&] { static_cast<void>(model->encode(Batch({7, 8}, {0, 2}), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("2")));
  EXPECT_THAT([&] { static_cast<void>(model->encode(Batch({7, 8}, {0}), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("1 token types for 2 tokens")));
}

TEST_F(BadPass, NoTextAndEmptyTextAreRefused) {
  const auto model = load("llama");
  EXPECT_THROW(static_cast<void>(model->decode(Batch(), {.pool = pool_})), std::invalid_argument);
  Batch batch;
  batch.add(std::vector<std::int32_t>{1, 2});
  batch.add({});
  EXPECT_THAT([&] { static_cast<void>(model->decode(batch, {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("empty")));
}

TEST_F(BadPass, MissingStacksAndHeadsAreNamed) {
  const auto bert = load("bert-half");
  const nn::Matrix hidden = bert->encode(text(3), {.pool = pool_});
  EXPECT_THAT([&] { static_cast<void>(bert->decode(text(3), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no decoder")));
  EXPECT_THAT([&] { static_cast<void>(bert->logits(hidden.view(), pool_)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no language-model head")));
  const auto gpt2 = load("gpt2");
  EXPECT_THAT([&] { static_cast<void>(gpt2->encode(text(3), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no encoder")));
  const nn::Matrix row = gpt2->decode(text(1), {.pool = pool_});
  EXPECT_THAT([&] { static_cast<void>(gpt2->pooled(row.view(), pool_)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no pooler")));
}

TEST_F(BadPass, DecoderNeedsMemoryForEachText) {
  const auto model = load("bart");
  EXPECT_THAT([&] { static_cast<void>(model->decode(text(3), {.pool = pool_})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("memory")));
  const model::EncoderOutput memory{model->encode(text(5), {.pool = pool_}), {0, 2, 5}};
  EXPECT_THAT([&] { static_cast<void>(model->decode(text(3), {.pool = pool_, .memory = &memory})); },
              ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("1 sequence"), HasSubstr("2"))));
}

TEST_F(BadPass, CacheHoldsOneSequence) {
  const auto model = load("mistral");
  model::Cache cache;
  Batch batch;
  batch.add(std::vector<std::int32_t>{5, 6});
  batch.add(std::vector<std::int32_t>{7});
  EXPECT_THAT([&] { static_cast<void>(model->decode(batch, {.pool = pool_, .cache = &cache})); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("2")));
}

}  // namespace
}  // namespace attn::test
