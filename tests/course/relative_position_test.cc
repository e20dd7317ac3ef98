// The table of relative positions has the published shape and learns through the engine's gradient.
#include <gmock/gmock.h>

#include "tests/course/tell.h"

namespace attn::course {
namespace {

using testing::ElementsAre;

TEST(RelativePositionLesson, HasOneRowPerClampedDistance) {
  const LessonOutput output = tell("relative-position");
  EXPECT_THAT(array(output, "table").shape, ElementsAre(65, 4));
  EXPECT_THAT(array(output, "far_index").numbers, ElementsAre(0, 0, 31, 32, 33, 64, 64));
}

TEST(RelativePositionLesson, EachHeadLearnsItsDistance) {
  const LessonOutput output = tell("relative-position", {"heads=8"});
  const LessonArray& learned = array(output, "learned");
  const std::int64_t wanted[] = {-1, 1, 0, -2};
  for (std::int64_t h = 0; h < 8; ++h)
    for (std::int64_t row = 0; row < learned.height(); ++row)
      if (row != 32 + wanted[h % 4]) {
        EXPECT_LT(learned.at(row, h), learned.at(32 + wanted[h % 4], h)) << "head " << h;
      }
  EXPECT_EQ(learned.at(64, 0), 0) << "no pair of 16 words is 32 apart";
  const std::vector<double>& losses = array(output, "losses").numbers;
  EXPECT_LT(losses.back(), 0.01 * losses.front());
}

TEST(RelativePositionLesson, AShortReachSharesTheLastRows) {
  const LessonOutput output = tell("relative-position", {"reach=2", "n=6"});
  EXPECT_THAT(array(output, "table").shape, ElementsAre(5, 4));
  const LessonArray& index = array(output, "index");
  EXPECT_EQ(index.at(0, 2), 4);
  EXPECT_EQ(index.at(0, 5), 4);
  EXPECT_EQ(index.at(5, 0), 0);
}

}  // namespace
}  // namespace attn::course
