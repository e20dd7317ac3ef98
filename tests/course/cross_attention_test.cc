// The lesson shows the weights of cross-attention before dropout.
#include <gmock/gmock.h>

#include "tests/course/tell.h"

namespace attn::course {
namespace {

using testing::ElementsAre;

TEST(CrossAttentionLesson, WeightsHaveThePublishedShapeAndRowsSumToOne) {
  const LessonOutput output = tell("cross-attention");
  EXPECT_THAT(array(output, "weights").shape, ElementsAre(2, 4, 10, 20));
  EXPECT_EQ(*output.words.find("of_output"), "[2, 10, 256]");
  for (const double sum : array(output, "sums").numbers) EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(CrossAttentionLesson, ShowsTheWeightsBeforeDropout) {
  const LessonOutput output = tell("cross-attention");
  EXPECT_EQ(number(output, "shown_difference"), 0);
  EXPECT_GT(number(output, "context_difference"), 0.01);
  const std::vector<double>& sums = array(output, "after_sums").numbers;
  EXPECT_GT(sums[0], 0.3);
  EXPECT_LT(sums[0], 0.9);
  EXPECT_GT(sums[1], 1);
  const LessonArray& after = array(output, "after_weights");
  const LessonArray& before = array(output, "weights");
  double dropped = 0, seen = 0;
  for (std::size_t n = 0; n < before.numbers.size(); ++n) {
    if (before.numbers[n] == 0) continue;
    seen += 1;
    dropped += after.numbers[n] == 0 ? 1 : 0;
    if (after.numbers[n] != 0) {
      EXPECT_NEAR(after.numbers[n], before.numbers[n] / 0.9, 1e-6);
    }
  }
  EXPECT_NEAR(dropped / seen, 0.1, 0.03);
}

TEST(CrossAttentionLesson, RejectsAMaskOfTheOtherText) {
  EXPECT_THAT(*tell("cross-attention").words.find("refusal"),
              testing::AllOf(testing::HasSubstr("10"), testing::HasSubstr("20")));
}

}  // namespace
}  // namespace attn::course
