#include "figure/scene/label.h"

#include <gtest/gtest.h>

namespace attn::figure {
namespace {

TEST(Labels, MarkLeadingAndTrailingSpacesAndKeepThoseInside) {
  EXPECT_EQ(visible(" the"), "·the");
  EXPECT_EQ(visible("a "), "a·");
  EXPECT_EQ(visible("   "), "···");
  EXPECT_EQ(visible("Deep learning"), "Deep learning");
  EXPECT_EQ(visible(""), "");
}

TEST(Labels, ShowInvisibleCharactersAsEscapes) {
  EXPECT_EQ(visible("\n"), "\\n");
  EXPECT_EQ(visible("a\tb\r"), "a\\tb\\r");
  EXPECT_EQ(visible("\x1b[1m"), "\\x1b[1m");
  EXPECT_EQ(visible("x\u200by"), "x\\u200by");
  EXPECT_EQ(visible("\u202eabc"), "\\u202eabc");
  EXPECT_EQ(visible("\ufeff"), "\\ufeff");
  EXPECT_EQ(visible("\u0085"), "\\u0085");
  EXPECT_EQ(visible(std::string("\0", 1)), "\\x00");
}

TEST(Labels, KeepOtherScriptsAndTheirJoiners) {
  for (const char* text : {"我 喜欢", "مرحبا", "שלום", "👩‍🚀", "می‌خواهم", "é", "##ing"})
    EXPECT_EQ(visible(text), text);
  EXPECT_EQ(visible("\u200d"), "\\u200d");
}

TEST(Labels, ShowInvalidBytes) {
  EXPECT_EQ(visible("\xf0\x9f"), "\\xf0\\x9f");
  EXPECT_EQ(visible("a\xff"), "a\\xff");
}

}  // namespace
}  // namespace attn::figure
