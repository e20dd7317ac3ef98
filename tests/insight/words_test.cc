#include "insight/tables/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

#include "insight/blocks/blocks.h"
#include "tests/support/random.h"

namespace attn::insight {
namespace {

text::Tokenizer tokenizer(const std::string& model) {
  return text::Tokenizer::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / model);
}

std::vector<std::string> texts_of(const Words& words) {
  std::vector<std::string> texts;
  for (const text::Token& word : words.words) texts.push_back(word.text);
  return texts;
}

using Texts = std::vector<std::string>;

// The words of a text that a model's tokenizer has split.
Texts words_in(const std::string& model, const std::string& text) {
  const model::Text source{.text = text, .pair = {}, .target = {}};
  return texts_of(words_of(tokenizer(model).encode(text).tokens, &source));
}

// The same without spans, words and source, like tokens that a model generated.
Texts said_words(const std::string& model, const std::string& text) {
  const text::Tokenizer of = tokenizer(model);
  return texts_of(words_of(of.tokens(of.encode(text, true).ids())));
}

TEST(Words, AreSpelledAsInTheSource) {
  EXPECT_EQ(words_in("bert", "Playing, naïvely!"), (Texts{"[CLS]", "Playing", ",", "naïvely", "!", "[SEP]"}));
  EXPECT_EQ(words_in("gpt2", "Playing unbelievably"), (Texts{"Playing", "unbelievably"}));
}

TEST(Words, OfSentencePieceBeginWithASpaceOrAfterPunctuation) {
  const Texts expected = {"<s>", "The", "animal", "didn't", "cross", "(",     "3.14",
                          "m",   ")",   ";",      "it",     "was",   "tired", "."};
  EXPECT_EQ(words_in("llama", "The animal didn't cross (3.14 m) ; it was tired."), expected);
  EXPECT_EQ(words_in("t5", "was tired; it slept"), (Texts{"was", "tired", ";", "it", "slept", "</s>"}));
}

TEST(Words, AChineseCharacterIsOne) {
  const Texts expected = {"我", "喜", "欢", "AI"};
  EXPECT_EQ(words_in("gpt2", "我喜欢AI"), expected);
  EXPECT_EQ(words_in("bert", "我喜欢AI"), (Texts{"[CLS]", "我", "喜", "欢", "AI", "[SEP]"}));
  EXPECT_EQ(words_in("llama", "我喜欢AI"), (Texts{"<s>", "我", "喜", "欢", "AI"}));
}

TEST(Words, ACharacterOfSeveralTokensStaysWhole) {
  for (const char* model : {"gpt2", "llama", "t5"}) {
    Texts words = words_in(model, "a 👨‍👩‍👧 naïve");
    std::erase_if(words, [](const std::string& word) { return word.starts_with("<"); });
    if (words.back() == "</s>") words.pop_back();
    EXPECT_EQ(words, (Texts{"a", "👨‍👩‍👧", "naïve"})) << model;
  }
}

TEST(Words, OfGeneratedTokensAreSpelledFromTheirPieces) {
  EXPECT_EQ(said_words("t5", "The animal didn't play."), (Texts{"The", "animal", "didn't", "play", "."}));
  EXPECT_EQ(said_words("bart", "The 👨‍👩‍👧 naïve dog"),
            (Texts{"The", "👨‍👩‍👧", "naïve", "dog"}));
  EXPECT_EQ(said_words("bert", "the animal"), (Texts{"the", "animal"}));
}

TEST(Words, OfAPairAreSpelledAsInTheirOwnText) {
  for (const char* model : {"bert", "roberta"}) {
    const model::Text source{.text = "One playing", .pair = "Two sleeping", .target = {}};
    Texts words = texts_of(words_of(tokenizer(model).encode(source.text, *source.pair).tokens, &source));
    std::erase_if(words, [](const std::string& word) { return word.starts_with("<") || word.starts_with("["); });
    EXPECT_EQ(words, (Texts{"One", "playing", "Two", "sleeping"})) << model;
  }
}

TEST(Words, EveryTokenBelongsToOneInOrder) {
  const std::vector<text::Token> tokens =
      tokenizer("llama").encode("Once upon a time, unbelievably.\n\nThe end ").tokens;
  const Words words = words_of(tokens);
  EXPECT_EQ(words.starts.front(), 0);
  EXPECT_EQ(words.starts.back(), std::ssize(tokens));
  EXPECT_TRUE(std::ranges::is_sorted(words.of_tokens()));
  EXPECT_TRUE(std::ranges::adjacent_find(words.starts) == words.starts.end());
}

TEST(Words, OfNoTokensAreNone) { EXPECT_EQ(words_of({}).count(), 0); }

// ---- tables between words ----

// Rows that sum to 1, tokens that are words of up to three pieces.
class PiecesTables final : public AttentionTables {
 public:
  explicit PiecesTables(std::int64_t size) : AttentionTables({{Kind::self, 1, 1, size, size}}), table_(size, size) {
    for (std::int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < size; ++j) sum += table_.row(i)[j] = std::abs(test::bell(3, i * size + j));
      for (std::int64_t j = 0; j < size; ++j) table_.row(i)[j] /= static_cast<float>(sum);
      text::Token token;
      token.text = std::to_string(i);
      token.word = i / 3 + (i % 7 == 0 ? 0 : i % 2);
      tokens_.push_back(token);
    }
  }
  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind) const noexcept override { return tokens_; }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind) const noexcept override { return tokens_; }
  [[nodiscard]] bool causal(const HeadId&) const override { return false; }
  void weights(const HeadId&, Rectangle window, View<float, 2> out, ThreadPool&) const override {
    for (std::int64_t i = 0; i < out.shape[0]; ++i)
      std::copy_n(table_.row(window.row + i) + window.col, out.shape[1], out.at(i));
  }

 private:
  nn::Matrix table_;
  std::vector<text::Token> tokens_;
};

TEST(MergedWords, AreTheSumOverKeysOfTheMeanOverQueries) {
  constexpr std::int64_t kSize = 40;
  ThreadPool pool(1);
  const PiecesTables pieces(kSize);
  const nn::Matrix table = pieces.weights({}, pool);
  const Words words = words_of(pieces.queries(Kind::self));
  ASSERT_LT(words.count(), kSize);
  const std::unique_ptr<AttentionTables> merged = merged_words(std::make_unique<PiecesTables>(kSize));
  const nn::Matrix got = merged->weights({}, pool);
  ASSERT_EQ(got.rows(), words.count());
  for (std::size_t a = 0; a < words.words.size(); ++a) {
    for (std::size_t b = 0; b < words.words.size(); ++b) {
      double sum = 0;
      for (std::int64_t i = words.starts[a]; i < words.starts[a + 1]; ++i)
        for (std::int64_t j = words.starts[b]; j < words.starts[b + 1]; ++j) sum += table.row(i)[j];
      const auto mean = sum / static_cast<double>(words.starts[a + 1] - words.starts[a]);
      EXPECT_NEAR(got.row(static_cast<std::int64_t>(a))[b], mean, 1e-6);
    }
  }
}

TEST(MergedWords, KeepTheMassOfEveryRowAcrossBlocks) {
  const std::unique_ptr<AttentionTables> merged = merged_words(std::make_unique<PiecesTables>(3 * kBlockColumns));
  const AttentionStack& stack = merged->stack(Kind::self);
  std::vector<double> sums(static_cast<std::size_t>(stack.queries));
  each_block(*merged, {}, [&](Rectangle at, View<const float, 2> block) {
    for (std::int64_t i = 0; i < block.shape[0]; ++i)
      for (std::int64_t j = 0; j < block.shape[1]; ++j) sums[static_cast<std::size_t>(at.row + i)] += block(i, j);
  });
  for (const double sum : sums) EXPECT_NEAR(sum, 1, 1e-4);
}

TEST(MergedWords, AWindowIsAPartOfTheWholeTable) {
  ThreadPool pool(1);
  const std::unique_ptr<AttentionTables> merged = merged_words(std::make_unique<PiecesTables>(60));
  const nn::Matrix whole = merged->weights({}, pool);
  nn::Matrix part(5, 7);
  merged->weights({}, {3, 11}, part.view(), pool);
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 7; ++j) EXPECT_EQ(part.row(i)[j], whole.row(3 + i)[11 + j]);
}

TEST(MergedWords, HaveNoRecordingBecauseThatCountsInTokens) {
  EXPECT_EQ(merged_words(std::make_unique<PiecesTables>(5))->recording(), nullptr);
}

}  // namespace
}  // namespace attn::insight
