#include "figure/colour.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace attn::figure {
namespace {

TEST(ColourMaps, UnknownNameIsRefusedWithTheKnownOnes) {
  try {
    colour_map("jet");
    FAIL() << "jet was taken";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_STREQ(wrong.what(), "there is no colour map 'jet'; known are: viridis, magma, cividis, YlOrRd, Blues, RdBu");
  }
}

TEST(ColourMaps, ViridisGoesFromViolettoYellow) {
  EXPECT_EQ(colour_map("viridis").front(), (Colour{0x44, 0x01, 0x54}));
  EXPECT_EQ(colour_map("viridis").back(), (Colour{0xfd, 0xe7, 0x24}));
}

}  // namespace
}  // namespace attn::figure
