// Checks the published numbers of this lesson literally, and the two holes of its exercise.
#include <gmock/gmock.h>

#include "course/compute/lesson_parts.h"
#include "tests/course/tell.h"

namespace attn::course {
namespace {

void expect_row(const LessonOutput& output, const char* name, std::int64_t row, const std::vector<double>& right) {
  const LessonArray found = slice(*output.arrays.find(name), row);
  ASSERT_EQ(found.numbers.size(), right.size());
  for (std::size_t n = 0; n < right.size(); ++n) EXPECT_NEAR(found.numbers[n], right[n], 6e-6) << name;
}

TEST(SelfAttentionLesson, HasTheNumbersOfSeed42) {
  const LessonOutput output = tell("self-attention", {});
  expect_row(output, "weights", 0, {.81996, .02616, .15388});
  expect_row(output, "weights", 1, {.02856, .03256, .93888});
  expect_row(output, "weights", 2, {.14521, .74423, .11056});
  expect_row(output, "output", 0, {-.85816, -1.37353, .08173});
  expect_row(output, "weights_8", 0, {.85536, .14136, .00328});
  expect_row(output, "weights_2", 0, {.14300, .26272, .59428});
  expect_row(output, "five_weights", 0, {.63286, .11886, .05221, .10355, .09253});
}

TEST(SelfAttentionLesson, FollowsTheReadersWidth) {
  expect_row(tell("self-attention", {"d_k=8"}), "weights", 0, {.85536, .14136, .00328});
}

TEST(SelfAttentionLesson, BarsAreSortedAndMadeOfWholeBlocks) {
  const LessonOutput output = tell("self-attention", {});
  EXPECT_THAT(*output.words.find("five_bars"), testing::StartsWith("我   →\n"
                                                                   "  我   0.633 █████████████████████████\n"
                                                                   "  喜欢 0.119 ████\n"
                                                                   "  AI   0.104 ████\n"
                                                                   "  技术 0.093 ███\n"
                                                                   "  学习 0.052 ██\n"));
  EXPECT_THAT(*output.words.find("shares"), testing::HasSubstr("x1 → x1 0.8200 (82.0%)  x2 0.0262 ( 2.6%)"));
}

TEST(SelfAttentionLesson, OnlyTheRightHolesAreRight) {
  for (const char* first : {"hole1=0", "hole1=1"})
    for (const char* second : {"hole2=0", "hole2=1", "hole2=2"}) {
      const LessonOutput output = tell("self-attention", {first, second});
      const bool right = std::string(first) == "hole1=1" && std::string(second) == "hole2=2";
      EXPECT_EQ(output.arrays.find("hole_right") != nullptr, right) << first << " " << second;
      EXPECT_EQ(output.arrays.find("hole_wrong") != nullptr, !right) << first << " " << second;
    }
  EXPECT_NE(tell("self-attention", {"hole1=0", "d_k=8"}).arrays.find("hole_misfit"), nullptr);
  EXPECT_NE(tell("self-attention", {"hole1=1", "hole2=2", "d_k=8"}).arrays.find("hole_right"), nullptr);
}

}  // namespace
}  // namespace attn::course
