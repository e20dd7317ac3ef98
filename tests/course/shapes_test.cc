// Checks the published shapes, and the error for heads that do not divide d_model.
#include <gmock/gmock.h>

#include "tests/course/tell.h"

namespace attn::course {
namespace {

using testing::ElementsAre;

const std::vector<double>& numbers(const LessonOutput& output, const char* name) {
  return output.arrays.find(name)->numbers;
}

TEST(ShapesLesson, HasThePublishedShapes) {
  const LessonOutput first = tell("shapes", {});
  EXPECT_THAT(numbers(first, "one_weights_shape"), ElementsAre(2, 10, 10));
  EXPECT_THAT(numbers(first, "one_output_shape"), ElementsAre(2, 10, 512));
  EXPECT_THAT(numbers(first, "output_shape"), ElementsAre(2, 10, 512));
  EXPECT_THAT(numbers(first, "d_k"), ElementsAre(64));
  const LessonOutput small = tell("shapes", {"B=1", "N=3", "d_model=4", "heads=1"});
  EXPECT_THAT(numbers(small, "one_output_shape"), ElementsAre(1, 3, 4));
  EXPECT_THAT(numbers(small, "one_weights_shape"), ElementsAre(1, 3, 3));
  const LessonOutput medium = tell("shapes", {"d_model=128"});
  EXPECT_THAT(numbers(medium, "d_k"), ElementsAre(16));
  EXPECT_THAT(numbers(medium, "output_shape"), ElementsAre(2, 10, 128));
  EXPECT_THAT(*medium.words.find("heads_flow"), testing::HasSubstr("[2, 8, 10, 16]"));
}

TEST(ShapesLesson, NamesBothNumbersIfHeadsDoNotDivideTheWidth) {
  try {
    tell("shapes", {"d_model=100", "heads=7"});
    FAIL() << "100 was split into 7";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_STREQ(wrong.what(), "d_model 100 cannot be split into 7 heads of equal width");
  }
}

}  // namespace
}  // namespace attn::course
