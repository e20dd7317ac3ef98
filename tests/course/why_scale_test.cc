// Checks published numbers of softmax([1, 2, 100]) literally, and that the wrong ways fail.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/course/tell.h"

namespace attn::course {
namespace {

TEST(WhyScaleLesson, HasThePublishedNumbers) {
  const LessonOutput found = tell("why-scale");
  const LessonArray &large = array(found, "large_weights"), &calm = array(found, "calm_weights");
  EXPECT_NEAR(large.at(0, 0), 1.011e-43, 1e-46);
  EXPECT_NEAR(large.at(0, 1), 2.749e-43, 1e-46);
  EXPECT_EQ(large.at(0, 2), 1);
  EXPECT_NEAR(number(found, "large_gradient"), 5.073e-43, 1e-46);
  EXPECT_NEAR(calm.at(0, 0), .0123, 5e-5);
  EXPECT_NEAR(calm.at(0, 1), .0128, 5e-5);
  EXPECT_NEAR(calm.at(0, 2), .9749, 5e-5);
  EXPECT_NEAR(number(found, "calm_gradient"), .0388, 5e-5);
  EXPECT_NEAR(found.arrays.find("spread")->at(4, 1), 512, 0.1 * 512);
}

TEST(WhyScaleLesson, TheWrongWaysGiveNaN) {
  const LessonOutput found = tell("why-scale");
  for (const double number : found.arrays.find("high_powers")->numbers) EXPECT_TRUE(std::isinf(number));
  for (const double number : found.arrays.find("high_naive")->numbers) EXPECT_TRUE(std::isnan(number));
  const LessonArray& whole = array(found, "rows_whole");
  EXPECT_NEAR(whole.at(0, 1), found.arrays.find("rows_weights")->at(0, 1), 1e-12);
  EXPECT_TRUE(std::isnan(whole.at(1, 0)) && std::isnan(whole.at(1, 1)));
}

}  // namespace
}  // namespace attn::course
