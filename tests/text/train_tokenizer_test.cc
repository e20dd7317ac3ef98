#include "text/tokenizer/train_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/golden_tokenizers.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::text {
namespace {

using nlohmann::json;
using testing::HasSubstr;

NextText one_by_one(const std::vector<std::string>& texts) {
  return [&texts, next = std::size_t{0}]() mutable -> std::optional<std::string> {
    if (next == texts.size()) return std::nullopt;
    return texts[next++];
  };
}

std::string refusal(const TokenizerPlan& plan, const std::vector<std::string>& texts) {
  try {
    trained_tokenizer(plan, one_by_one(texts));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

Tokenizer trained(const TokenizerPlan& plan, const std::vector<std::string>& texts) {
  const test::TemporaryFolder folder;
  train_tokenizer(plan, one_by_one(texts), folder.path());
  EXPECT_EQ(folder.files(), 2u);
  return Tokenizer::load(folder.path());
}

const std::vector<std::string>& few() {
  static const std::vector<std::string> texts = {"I love you", "我爱你", "Do you love me?", "你爱我吗？"};
  return texts;
}

// Vocabularies that Python's tokenizers learned: tests/golden/make_trained_tokenizers.py.
class LearnedByPython : public testing::TestWithParam<std::pair<const char*, Scheme>> {
 protected:
  LearnedByPython()
      : all_(test::read_json(std::filesystem::path(ATTNSCOPE_GOLDEN) / "trained_tokenizers.json")),
        expected_(all_.at("schemes").at(GetParam().first)),
        texts_(all_.at("texts").get<std::vector<std::string>>()),
        plan_{.scheme = GetParam().second,
              .vocabulary = expected_.at("vocabulary"),
              .least_count = expected_.at("least_count")} {}

  json all_, expected_;
  std::vector<std::string> texts_;
  TokenizerPlan plan_;
};

TEST_P(LearnedByPython, HasTheSamePiecesInTheSameOrder) {
  const json model = json::parse(trained_tokenizer(plan_, one_by_one(texts_)).tokenizer).at("model");
  std::map<std::int64_t, std::string> by_id;
  for (const auto& [piece, id] : model.at("vocab").items()) by_id[id.get<std::int64_t>()] = piece;
  ASSERT_EQ(by_id.size(), expected_.at("pieces").size());
  for (const auto& [id, piece] : by_id)
    EXPECT_EQ(piece, expected_.at("pieces").at(static_cast<std::size_t>(id)).get<std::string>()) << id;
  EXPECT_EQ(model.value("merges", json()), expected_.value("merges", json()));
}

TEST_P(LearnedByPython, EncodesToTheSameIds) {
  const Tokenizer tokenizer = trained(plan_, texts_);
  for (std::size_t i = 0; i < all_.at("strings").size(); ++i) {
    const std::string string = all_.at("strings").at(i);
    EXPECT_EQ(tokenizer.encode(string).ids(), expected_.at("ids").at(i).get<std::vector<std::int32_t>>()) << string;
  }
}

TEST_P(LearnedByPython, TheSameTextsGiveTheSameBytesInAnyOrder) {
  const TokenizerFiles first = trained_tokenizer(plan_, one_by_one(texts_));
  for (int n = 0; n < 5; ++n) EXPECT_EQ(trained_tokenizer(plan_, one_by_one(texts_)).tokenizer, first.tokenizer);
  const std::vector<std::string> reversed(texts_.rbegin(), texts_.rend());
  EXPECT_EQ(trained_tokenizer(plan_, one_by_one(reversed)).tokenizer, first.tokenizer);
}

TEST_P(LearnedByPython, AVocabularyTooLargeForTheTextsIsRefusedWithBothNumbers) {
  TokenizerPlan plan = plan_;
  plan.vocabulary = 0;
  const auto most = trained(plan, texts_).size();
  plan.vocabulary = most;
  EXPECT_EQ(trained(plan, texts_).size(), most);
  for (const std::int64_t more : {most + 1, std::int64_t{1} << 60}) {
    plan.vocabulary = more;
    const std::string number = std::to_string(most);
    EXPECT_EQ(refusal(plan, texts_),
              "the texts yield " + number + " pieces, not " + std::to_string(more) + "; ask for at most " + number);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, LearnedByPython,
                         testing::Values(std::pair{"word_piece", Scheme::word_piece},
                                         std::pair{"byte_bpe", Scheme::byte_bpe}, std::pair{"words", Scheme::words}),
                         [](const auto& each) { return std::string(each.param.first); });

TEST(TrainTokenizer, NoTextAtAllIsRefused) {
  for (const Scheme scheme : {Scheme::word_piece, Scheme::byte_bpe, Scheme::words}) {
    EXPECT_THAT(refusal({.scheme = scheme}, {}), HasSubstr("no text"));
    EXPECT_THAT(refusal({.scheme = scheme}, {"", " \n"}), HasSubstr("no text"));
  }
}

TEST(TrainTokenizer, TextThatIsNotUtf8IsRefusedWithTheByte) {
  EXPECT_THAT(refusal({}, {"ok", "a\xFFz"}), HasSubstr("byte 1 is 0xff"));
}

TEST(TrainTokenizer, VocabularyTooSmallForSpecialTokensIsRefused) {
  EXPECT_THAT(refusal({.scheme = Scheme::byte_bpe, .vocabulary = 200}, few()), HasSubstr("of 200 is too small"));
  EXPECT_THAT(refusal({.scheme = Scheme::byte_bpe, .vocabulary = 200}, few()), HasSubstr("take 257"));
  EXPECT_THAT(refusal({.scheme = Scheme::words, .vocabulary = 3}, few()), HasSubstr("take 4"));
  EXPECT_THAT(refusal({.scheme = Scheme::word_piece, .vocabulary = 4}, few()), HasSubstr("take 5"));
  EXPECT_THAT(refusal({.vocabulary = -1}, few()), HasSubstr("0 or more"));
  EXPECT_THAT(refusal({.least_count = 0}, few()), HasSubstr("1 or more"));
}

TEST(TrainTokenizer, SpecialTokensHaveTheirRoles) {
  const SpecialIds bert = trained({.scheme = Scheme::word_piece, .vocabulary = 0}, few()).special();
  EXPECT_EQ(bert.pad, 0);
  EXPECT_EQ(bert.unknown, 1);
  EXPECT_EQ(bert.cls, 2);
  EXPECT_EQ(bert.sep, 3);
  EXPECT_EQ(bert.mask, 4);
  const SpecialIds gpt = trained({.scheme = Scheme::byte_bpe, .vocabulary = 0}, few()).special();
  EXPECT_EQ(gpt.bos, 0);
  EXPECT_EQ(gpt.eos, 0);
  const SpecialIds bart = trained({.scheme = Scheme::words, .vocabulary = 0}, few()).special();
  EXPECT_EQ(bart.bos, 0);
  EXPECT_EQ(bart.pad, 1);
  EXPECT_EQ(bart.eos, 2);
  EXPECT_EQ(bart.unknown, 3);
  EXPECT_EQ(bart.mask, -1);
}

TEST(TrainTokenizer, PairsHaveTheirSeparators) {
  const Tokenizer bert = trained({.scheme = Scheme::word_piece, .vocabulary = 0, .least_count = 1}, few());
  const Encoding pair = bert.encode("I love", "you");
  EXPECT_EQ(pair.types(), (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(pair.tokens.front().piece, "[CLS]");
  EXPECT_EQ(pair.tokens.back().piece, "[SEP]");
  const Tokenizer bart = trained({.scheme = Scheme::words, .vocabulary = 0, .least_count = 1}, few());
  EXPECT_EQ(bart.encode("I love", "you").tokens.at(3).piece, "</s>");
  EXPECT_EQ(bart.encode("I love", "you").tokens.at(4).piece, "</s>");
}

TEST(TrainTokenizer, WordsDecodeWithSpacesAndChineseWithout) {
  const Tokenizer words = trained({.scheme = Scheme::words, .vocabulary = 0, .least_count = 1}, few());
  for (const char* text : {"i love you", "我爱你", "do you love me?", "你爱我吗？"}) {
    EXPECT_EQ(words.decode(words.encode(text).ids()), text);
  }
  EXPECT_EQ(words.encode("我爱你").tokens.size(), 5u);
}

TEST(TrainTokenizer, CaseIsKeptIfRequested) {
  const Tokenizer words =
      trained({.scheme = Scheme::words, .vocabulary = 0, .least_count = 1, .lower_case = false}, few());
  EXPECT_TRUE(words.id("I").has_value());
  EXPECT_FALSE(words.id("i").has_value());
}

TEST(TrainTokenizer, AMissingFolderIsAnError) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(std::string(test::error_of([&] {
                            train_tokenizer({.scheme = Scheme::words, .vocabulary = 0, .least_count = 1},
                                            one_by_one(few()), folder / "none");
                          }).what()),
              HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace attn::text
