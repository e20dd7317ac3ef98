// Ids, spans, words, flags and decoded text of hard strings, against Hugging Face's tokenizers in Python
// (tests/golden/make_tokenizers.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/text/golden_tokenizers.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::test {
namespace {

using nlohmann::json;
using text::Encoding;
using text::Token;
using text::Tokenizer;
namespace fs = std::filesystem;

// An encoding in the format of expected.json.
json described(const Encoding& encoding) {
  json offsets = json::array();
  json words = json::array();
  json special = json::array();
  for (const Token& token : encoding.tokens) {
    offsets.push_back(token.span.from);
    offsets.push_back(token.span.to);
    words.push_back(token.word.value_or(-1));
    special.push_back(token.special ? 1 : 0);
  }
  return {{"ids", encoding.ids()},
          {"types", encoding.types()},
          {"offsets", offsets},
          {"words", words},
          {"special", special}};
}

// Values that expected.json omits because they follow from the rest.
json completed(json entry) {
  const json& ids = entry.at("ids");
  if (!entry.contains("types")) entry["types"] = std::vector<int>(ids.size(), 0);
  if (!entry.contains("whole")) entry["whole"] = entry.at("decoded");
  if (!entry.contains("bare")) {
    json bare = json::array();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (entry.at("special").at(i) == 0) bare.push_back(ids.at(i));
    }
    entry["bare"] = bare;
  }
  return entry;
}

void expect_equal(const Tokenizer& tokenizer, const Encoding& encoding, const Encoding& bare, const json& entry) {
  const json want = completed(entry);
  json got = described(encoding);
  got["bare"] = bare.ids();
  got["decoded"] = tokenizer.decode(encoding.ids());
  got["whole"] = tokenizer.decode(encoding.ids(), false);
  EXPECT_EQ(got, want);
}

void expect_all_equal(const Tokenizer& tokenizer, const json& expected) {
  const auto every = expected.value("every", std::size_t{1});
  const std::vector<std::string> texts = golden_texts();
  ASSERT_EQ(expected.at("texts").size(), (texts.size() + every - 1) / every);
  for (std::size_t i = 0; i < texts.size(); i += every) {
    SCOPED_TRACE("text " + json(texts[i]).dump());
    const std::string& text = texts[i];
    expect_equal(tokenizer, tokenizer.encode(text), tokenizer.encode(text, true), expected.at("texts").at(i / every));
  }
  const auto pairs = golden_pairs();
  ASSERT_EQ(expected.at("pairs").size(), (pairs.size() + every - 1) / every);
  for (std::size_t i = 0; i < pairs.size(); i += every) {
    const auto& [first, second] = pairs[i];
    SCOPED_TRACE("pair " + json(first).dump() + " " + json(second).dump());
    expect_equal(tokenizer, tokenizer.encode(first, second), tokenizer.encode(first, second, true),
                 expected.at("pairs").at(i / every));
  }
}

class SmallTokenizer : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static fs::path folder() { return tokenizers_folder() / GetParam(); }
  [[nodiscard]] static json expected() { return read_json(folder() / "expected.json"); }
  void copy(const char* file) const { fs::copy_file(folder() / file, other_ / file); }

  TemporaryFolder other_;
};

TEST_P(SmallTokenizer, AgreesWithPythonOnEveryHardString) {
  ASSERT_GE(golden_texts().size(), 300u);
  expect_all_equal(Tokenizer::load(folder()), expected());
}

TEST_P(SmallTokenizer, PaddingAndTruncationOfTheFileAreTurnedOff) {
  json file = read_json(folder() / "tokenizer.json");
  file["truncation"] = {{"direction", "Right"}, {"max_length", 4}, {"strategy", "LongestFirst"}, {"stride", 0}};
  file["padding"] = {{"strategy", {{"Fixed", 16}}},
                     {"direction", "Right"},
                     {"pad_to_multiple_of", nullptr},
                     {"pad_id", 0},
                     {"pad_type_id", 0},
                     {"pad_token", "[PAD]"}};
  other_.write("tokenizer.json", file.dump());
  expect_all_equal(Tokenizer::load(other_.path()), expected());
}

TEST_P(SmallTokenizer, ModelWithAnUnknownFieldLoadsTheSame) {
  json file = read_json(folder() / "tokenizer.json");
  file["model"]["of_another_version"] = {1, 2, 3};
  file["truncation"] = {{"direction", "Right"}, {"max_length", 4}, {"strategy", "LongestFirst"}, {"stride", 0}};
  other_.write("tokenizer.json", file.dump());
  expect_all_equal(Tokenizer::load(other_.path()), expected());
}

INSTANTIATE_TEST_SUITE_P(, SmallTokenizer, testing::Values("wordpiece", "bytebpe", "roberta", "spbpe", "unigram"),
                         [](const auto& suite) { return std::string(suite.param); });

// bytebpe, roberta and spbpe.
using SmallBpe = SmallTokenizer;

TEST_P(SmallBpe, MergesWrittenAsOneStringLoadTheSame) {
  json file = read_json(folder() / "tokenizer.json");
  for (json& merge : file["model"]["merges"]) {
    ASSERT_TRUE(merge.is_array());
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  other_.write("tokenizer.json", file.dump());
  expect_all_equal(Tokenizer::load(other_.path()), expected());
}

INSTANTIATE_TEST_SUITE_P(, SmallBpe, testing::Values("bytebpe", "roberta", "spbpe"),
                         [](const auto& suite) { return std::string(suite.param); });

using OldFiles = SmallTokenizer;

TEST_P(OldFiles, MatchTokenizerJson) {
  for (const char* name : {"vocab.txt", "vocab.json", "merges.txt", "tokenizer_config.json"}) {
    if (fs::exists(folder() / name)) copy(name);
  }
  const Tokenizer tokenizer = Tokenizer::load(other_.path());
  EXPECT_EQ(tokenizer.size(), Tokenizer::load(folder()).size());
  expect_all_equal(tokenizer, expected());
}

INSTANTIATE_TEST_SUITE_P(, OldFiles, testing::Values("wordpiece", "bytebpe", "roberta"),
                         [](const auto& suite) { return std::string(suite.param); });

// The tokenizers of real models; set ATTNSCOPE_MODELS to a folder that holds them.
class RealTokenizer : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* models = std::getenv("ATTNSCOPE_MODELS");
    if (models == nullptr) GTEST_SKIP() << "set ATTNSCOPE_MODELS to a folder with real models to run this";
    folder_ = fs::path(models) / GetParam();
    if (!fs::is_directory(folder_)) GTEST_SKIP() << "there is no " << folder_;
  }
  [[nodiscard]] static json expected() { return read_json(tokenizers_folder() / GetParam() / "expected.json"); }

  fs::path folder_;
};

std::string name_without_dashes(const testing::TestParamInfo<const char*>& suite) {
  std::string name = suite.param;
  std::erase(name, '-');
  return name;
}

TEST_P(RealTokenizer, AgreesWithPython) { expect_all_equal(Tokenizer::load(folder_), expected()); }

INSTANTIATE_TEST_SUITE_P(, RealTokenizer,
                         testing::Values("bert-base-uncased", "bge-small-zh", "gpt2-tokenizer", "minilm", "stories15M",
                                         "t5-tokenizer"),
                         name_without_dashes);

using RealOldFiles = RealTokenizer;

TEST_P(RealOldFiles, AgreeWithPython) {
  const TemporaryFolder old;
  for (const fs::path& file : fs::directory_iterator(folder_)) {
    const std::string name = file.filename().string();
    if (name != "tokenizer.json" && !name.ends_with(".safetensors")) fs::copy_file(file, old / name);
  }
  expect_all_equal(Tokenizer::load(old.path()), expected());
}

INSTANTIATE_TEST_SUITE_P(, RealOldFiles,
                         testing::Values("bert-base-uncased", "bge-small-zh", "gpt2-tokenizer", "minilm"),
                         name_without_dashes);

}  // namespace
}  // namespace attn::test
