// Text that arrives token by token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/text/golden_tokenizers.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::test {
namespace {

using testing::ElementsAre;
using text::TextStream;
using text::Tokenizer;

std::vector<std::string> streamed(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  TextStream stream(tokenizer);
  std::vector<std::string> parts;
  for (const std::int32_t id : ids) parts.push_back(stream.add(id));
  parts.push_back(stream.finish());
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

std::vector<std::int32_t> ids_of(const Tokenizer& tokenizer, const std::vector<std::string>& pieces) {
  std::vector<std::int32_t> ids;
  for (const std::string& piece : pieces) {
    const std::optional<std::int32_t> id = tokenizer.id(piece);
    if (!id) throw std::invalid_argument("the vocabulary lacks " + piece);
    ids.push_back(*id);
  }
  return ids;
}

class Stream : public testing::TestWithParam<const char*> {
 protected:
  Tokenizer tokenizer_ = Tokenizer::load(tokenizers_folder() / GetParam());
};

TEST_P(Stream, EqualsDecodeForEveryText) {
  for (const std::string& text : golden_texts()) {
    const std::vector<std::int32_t> ids = tokenizer_.encode(text).ids();
    EXPECT_EQ(joined(streamed(tokenizer_, ids)), tokenizer_.decode(ids)) << text;
  }
}

// Random ids give broken characters, runs of bytes, special tokens in the middle, and unknown ids.
TEST_P(Stream, EqualsDecodeForRandomIds) {
  std::mt19937 random(7);
  const auto size = static_cast<std::int32_t>(tokenizer_.size());
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::int32_t> ids(random() % 24);
    // Half of the rounds use only the first ids, where the bytes are.
    const std::int32_t limit = round % 2 == 0 ? size + 3 : std::min(size, 270);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(limit)) - 1;
    EXPECT_EQ(joined(streamed(tokenizer_, ids)), tokenizer_.decode(ids)) << testing::PrintToString(ids);
  }
}

TEST_P(Stream, RestartsAfterFinish) {
  const std::vector<std::int32_t> ids = tokenizer_.encode("The teacher opens the letter 🏽").ids();
  TextStream stream(tokenizer_);
  for (int round = 0; round < 2; ++round) {
    std::string all;
    for (const std::int32_t id : ids) all += stream.add(id);
    EXPECT_EQ(all + stream.finish(), tokenizer_.decode(ids));
  }
}

INSTANTIATE_TEST_SUITE_P(, Stream, testing::Values("wordpiece", "bytebpe", "roberta", "spbpe", "unigram"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(TextStream, CharacterWaitsForItsLastByte) {
  const Tokenizer bytebpe = Tokenizer::load(tokenizers_folder() / "bytebpe");
  EXPECT_THAT(streamed(bytebpe, ids_of(bytebpe, {"The", "ðŁ", "ı", "½", "Ġthe"})),
              ElementsAre("The", "", "", "🏽", " the", ""));
  const Tokenizer spbpe = Tokenizer::load(tokenizers_folder() / "spbpe");
  EXPECT_THAT(streamed(spbpe, ids_of(spbpe, {"▁The", "<0xF0>", "<0x9F>", "<0x8F>", "<0xBD>", "▁the"})),
              ElementsAre("The", "", "", "", "", "🏽 the", ""));
}

TEST(TextStream, OnlyTheFirstSpaceIsDropped) {
  const Tokenizer spbpe = Tokenizer::load(tokenizers_folder() / "spbpe");
  EXPECT_THAT(streamed(spbpe, ids_of(spbpe, {"<s>", "▁The", "▁the", "▁", "▁the"})),
              ElementsAre("", "The", " the", " ", " the", ""));
  const Tokenizer unigram = Tokenizer::load(tokenizers_folder() / "unigram");
  EXPECT_THAT(streamed(unigram, ids_of(unigram, {"▁The", "▁the"})), ElementsAre("The", " the", ""));
}

TEST(TextStream, WordPiecesJoinTheirWord) {
  const Tokenizer tokenizer = Tokenizer::load(tokenizers_folder() / "wordpiece");
  EXPECT_THAT(streamed(tokenizer, ids_of(tokenizer, {"[CLS]", "mask", "##ing", "the", ".", "[SEP]"})),
              ElementsAre("", "mask", "ing", " the", ".", "", ""));
}

TEST(TextStream, BrokenBytesDoNotDelayTheText) {
  const Tokenizer tokenizer = Tokenizer::load(tokenizers_folder() / "bytebpe");
  const std::vector<std::int32_t> ids =
      ids_of(tokenizer, {"å", "å", "å", "å", "å"});  // each is 0xe5, the start of a character
  EXPECT_THAT(streamed(tokenizer, ids), ElementsAre("", "\uFFFD", "\uFFFD", "\uFFFD", "\uFFFD", "\uFFFD"));
}

// A decoder whose text depends on later tokens: nothing is returned before the end.
TEST(TextStream, UnusualDecoderReturnsItsTextAtTheEnd) {
  nlohmann::json file = read_json(tokenizers_folder() / "spbpe" / "tokenizer.json");
  file["decoder"]["decoders"][3]["stop"] = 1;
  const TemporaryFolder folder;
  folder.write("tokenizer.json", file.dump());
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const std::vector<std::int32_t> ids = tokenizer.encode("The teacher opens ").ids();
  const std::vector<std::string> parts = streamed(tokenizer, ids);
  EXPECT_EQ(parts.back(), tokenizer.decode(ids));
  EXPECT_EQ(joined(parts), tokenizer.decode(ids));
}

}  // namespace
}  // namespace attn::test
