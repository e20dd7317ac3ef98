#include "text/tokenizer/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/text/golden_tokenizers.h"
#include "text/tokenizer/decoding.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::test {
namespace {

using testing::ElementsAre;
using text::PieceForm;
using text::Token;
using text::Tokenizer;

std::vector<std::string> readable(std::vector<std::string_view> pieces, PieceForm form) {
  return text::readable(pieces, form);
}

std::vector<std::string> texts_of(const char* name, const std::string& text) {
  std::vector<std::string> texts;
  for (const Token& token : Tokenizer::load(tokenizers_folder() / name).encode(text).tokens)
    texts.push_back(token.text);
  return texts;
}

TEST(ReadablePieces, WordPiecesStayAsTheyAre) {
  EXPECT_THAT(readable({"[CLS]", "mask", "##ing", "Ġ", "▁"}, PieceForm::word_piece),
              ElementsAre("[CLS]", "mask", "##ing", "Ġ", "▁"));
}

TEST(ReadablePieces, ByteLevelSpacesAndLettersAreDecoded) {
  EXPECT_THAT(readable({"The", "Ġteacher", "ĠgrÃ¶ÃŁte", "Ċ", "ĉ", "<|endoftext|>"}, PieceForm::byte_level),
              ElementsAre("The", " teacher", " größte", "\n", "\t", "<|endoftext|>"));
}

TEST(ReadablePieces, CharacterInSeveralPiecesIsNumbered) {
  // 😀 is f0 9f 98 80, here as two and two bytes; 老师 is e8 80 81 e5 b8 88 as 2 + 2 + 2.
  EXPECT_THAT(readable({"aðŁ", "ĺĢb"}, PieceForm::byte_level), ElementsAre("a😀₁", "😀₂b"));
  EXPECT_THAT(readable({"èĢ", "ģå", "¸Ī"}, PieceForm::byte_level), ElementsAre("老₁", "老₂师₁", "师₂"));
  EXPECT_THAT(readable({"ð", "Ł", "ĺ", "Ģ"}, PieceForm::byte_level), ElementsAre("😀₁", "😀₂", "😀₃", "😀₄"));
}

TEST(ReadablePieces, BytesOutsideACharacterAreShownInHex) {
  EXPECT_THAT(readable({"aä", "b", "Ģ", "ðŁ"}, PieceForm::byte_level),
              ElementsAre("a<0xE4>", "b", "<0x80>", "<0xF0><0x9F>"));
  EXPECT_THAT(readable({"▁a", "<0xE4>", "b", "<0xE4>", "<0xBD>"}, PieceForm::sentence_piece),
              ElementsAre(" a", "<0xE4>", "b", "<0xE4>", "<0xBD>"));
}

TEST(ReadablePieces, SentencePieceBytesAreJoined) {
  EXPECT_THAT(
      readable({"▁hi", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<0x0A>", "▁▁x"}, PieceForm::sentence_piece),
      ElementsAre(" hi", " ", "😀₁", "😀₂", "😀₃", "😀₄", "\n", "  x"));
}

TEST(ReadablePieces, PieceThatIsNotAByteEndsACharacter) {
  EXPECT_THAT(readable({"ðŁ", "<｜end｜>", "ĺĢ"}, PieceForm::byte_level),
              ElementsAre("<0xF0><0x9F>", "<｜end｜>", "<0x98><0x80>"));
}

TEST(ReadablePieces, OnlyTwoHexDigitsAreAByte) {
  EXPECT_EQ(text::fallback_byte("<0xE4>"), 0xE4);
  EXPECT_EQ(text::fallback_byte("<0x00>"), 0);
  for (const char* piece : {"<0xE4", "<0xE>", "<0xEG>", "<0x E>", "0xE4>>", "<0xE44>", ""}) {
    EXPECT_EQ(text::fallback_byte(piece), std::nullopt) << piece;
  }
}

// Every byte has one letter: the vocabulary's first 256 entries, in order.
TEST(ReadablePieces, EveryByteHasALetter) {
  const Tokenizer tokenizer = Tokenizer::load(tokenizers_folder() / "bytebpe");
  std::vector<bool> seen(256);
  for (std::int32_t id = 0; id < 256; ++id) {
    const std::string bytes = text::byte_level_bytes(tokenizer.tokens({&id, 1})[0].piece).value_or("none");
    ASSERT_EQ(bytes.size(), 1u) << id;
    seen[static_cast<unsigned char>(bytes[0])] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 256);
}

TEST(ReadablePieces, ByteLevelPiecesRebuildEveryText) {
  const Tokenizer tokenizer = Tokenizer::load(tokenizers_folder() / "bytebpe");
  for (const std::string& text : golden_texts()) {
    std::string bytes;
    for (const Token& token : tokenizer.encode(text).tokens) bytes += text::byte_level_bytes(token.piece).value_or("?");
    EXPECT_EQ(bytes, text);
  }
}

TEST(ReadablePieces, FormComesFromTheFileNotFromTheName) {
  EXPECT_THAT(texts_of("wordpiece", "masking 老师"), ElementsAre("[CLS]", "mask", "##ing", "老", "师", "[SEP]"));
  EXPECT_THAT(texts_of("roberta", "The teacher"), ElementsAre("<s>", "The", " teacher", "</s>"));
  EXPECT_THAT(texts_of("unigram", "The teacher"), ElementsAre(" The", " teacher", "</s>"));
  EXPECT_THAT(texts_of("spbpe", "a 🏽"), ElementsAre("<s>", " a", " ", "🏽₁", "🏽₂", "🏽₃", "🏽₄"));
}

TEST(Decoding, WithoutADecoderThePreTokenizerDecides) {
  EXPECT_EQ(text::decoding_of(R"({"decoder": null, "pre_tokenizer": {"type": "ByteLevel"}})").form,
            PieceForm::byte_level);
  EXPECT_EQ(text::decoding_of(R"({"decoder": null, "pre_tokenizer":
      {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, {"type": "Metaspace"}]}})")
                .form,
            PieceForm::sentence_piece);
  EXPECT_EQ(text::decoding_of(R"({"decoder": null, "pre_tokenizer": null})").form, PieceForm::plain);
}

}  // namespace
}  // namespace attn::test
