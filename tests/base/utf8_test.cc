#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace attn::test {
namespace {

using namespace std::string_view_literals;
using base::first_bad_byte;
using base::replace_bad_bytes;

TEST(Utf8, WellFormedTextHasNoBadByte) {
  for (const std::string_view text : {""sv, "plain"sv, "größer 老师 😀"sv, "\0"sv, "\U0010FFFF"sv, "\uD7FF\uE000"sv}) {
    EXPECT_EQ(first_bad_byte(text), std::nullopt) << text;
  }
}

TEST(Utf8, FirstBadByteIsFoundAtAnyPosition) {
  for (std::size_t before = 0; before < 40; ++before) {
    EXPECT_EQ(first_bad_byte(std::string(before, 'a') + "\xFFzzzzzzzzzzzz"), before);
    EXPECT_EQ(first_bad_byte(std::string(before, 'a') + "\xE8\x80"), before);
  }
}

// Overlong forms, surrogates and code points beyond U+10FFFF are not UTF-8.
TEST(Utf8, ForbiddenFormsAreBad) {
  for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
                           "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80"}) {
    EXPECT_EQ(first_bad_byte(text), 0u);
  }
}

// As Unicode recommends, and Rust and Python do: the longest valid prefix of a character becomes one U+FFFD.
TEST(Utf8, BadBytesAreReplacedByTheLongestBeginning) {
  EXPECT_EQ(replace_bad_bytes("a\xF0\x9F\x98z"), "a\uFFFDz");
  EXPECT_EQ(replace_bad_bytes("\xF0\x9F"), "\uFFFD");
  EXPECT_EQ(replace_bad_bytes("\xE8\xE8\x80\x81"), "\uFFFD老");
  EXPECT_EQ(replace_bad_bytes("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_bad_bytes("\xC0\x80"), "\uFFFD\uFFFD");
}

TEST(Utf8, OnlyACutCharacterRemains) {
  std::string bytes = "a\xE8\x80";
  EXPECT_EQ(base::take_characters(bytes), "a");
  EXPECT_EQ(bytes, "\xE8\x80");
  bytes += "\x81\xFF";
  EXPECT_EQ(base::take_characters(bytes), "老\uFFFD");
  EXPECT_EQ(bytes, "");
}

}  // namespace
}  // namespace attn::test
