#include "base/markup.h"

#include <gtest/gtest.h>

namespace attn::base {
namespace {

TEST(Markup, SpecialCharactersAreEscaped) {
  EXPECT_EQ(escaped("a < b && \"c\" > d"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
  EXPECT_EQ(escaped("今天"), "今天");
}

// RFC 4648, section 10.
TEST(Markup, Base64MatchesTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFB\xFF"), "+/8=");
}

}  // namespace
}  // namespace attn::base
