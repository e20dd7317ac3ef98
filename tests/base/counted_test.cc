#include "base/counted.h"

#include <gtest/gtest.h>

namespace attn::base {
namespace {

TEST(Counted, ThousandsAreSeparatedByCommas) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(1, "head"), "1 head");
  EXPECT_EQ(counted(0, "head"), "0 heads");
  EXPECT_EQ(counted(1200, "head"), "1,200 heads");
}

}  // namespace
}  // namespace attn::base
