// Tests how sentences are wrapped.
#include <gtest/gtest.h>

#include "figure/terminal/terminal.h"

namespace attn::figure {
namespace {

// Wraps to lines of `room` columns.
std::string lines_of(const std::string& text, int room) {
  const Terminal terminal({.width = 80}, false);
  std::string lines = terminal.sentence({{text}}, 80 - room);
  for (std::size_t at = 0; (at = lines.find("\n ", at)) != std::string::npos; ++at)
    lines.erase(at + 1, static_cast<std::size_t>(80 - room));
  return lines;
}

TEST(Sentence, BreaksBetweenWords) { EXPECT_EQ(lines_of("one two three", 8), "one two\nthree\n"); }

TEST(Sentence, BreaksBetweenChineseCharacters) {
  EXPECT_EQ(lines_of("每个词有 4 个数", 10), "每个词有 4\n个数\n");
  EXPECT_EQ(lines_of("这里有很多个词", 10), "这里有很多\n个词\n");
  EXPECT_EQ(lines_of("这里有很多 words 和词", 12), "这里有很多\nwords 和词\n");
}

TEST(Sentence, KeepsPunctuationWithItsCharacter) {
  EXPECT_EQ(lines_of("这里有很多，很多", 10), "这里有很\n多，很多\n");
  EXPECT_EQ(lines_of("这里有很（多）", 10), "这里有很\n（多）\n");
}

}  // namespace
}  // namespace attn::figure
