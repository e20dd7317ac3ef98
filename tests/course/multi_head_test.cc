// Checks Deep-ML 53 and 94 literally, with the reader's answers, and heads that do not divide the width.
#include <gmock/gmock.h>

#include "course/compute/lesson_parts.h"
#include "tests/course/tell.h"

namespace attn::course {
namespace {

using testing::HasSubstr;

// Every row.
void expect_rows(const LessonOutput& output, const char* name, const std::vector<double>& row) {
  const LessonArray& found = *output.arrays.find(name);
  ASSERT_EQ(found.width(), std::ssize(row));
  for (std::size_t n = 0; n < found.numbers.size(); ++n)
    EXPECT_NEAR(found.numbers[n], row[n % row.size()], 1e-3) << name << ", number " << n;
}

TEST(DeepMl53Lesson, HasThePublishedOutput) {
  const LessonArray published{{2, 2}, {1.660477, 2.660477, 2.339523, 3.339523}};
  EXPECT_LT(largest_difference(*tell("deep-ml-53").arrays.find("output"), published), 1e-6);
}

TEST(DeepMl53Lesson, ChecksTheReadersAnswer) {
  const auto verdict = [](const std::string& answer) { return *tell("deep-ml-53", {}, answer).words.find("verdict"); };
  EXPECT_EQ(*tell("deep-ml-53").words.find("verdict"), "no answer yet");
  EXPECT_EQ(verdict(R"({"answer": [[1.6605, 2.6605], [2.3395, 3.3395]]})"), "right");
  EXPECT_EQ(verdict(R"({"answer": [[1.6605, 2.6605], [2.5, 3.5]]})"),
            "2 of 4 numbers differ, the first at [1, 0]: 2.5 instead of 2.33952");
  EXPECT_EQ(verdict(R"({"answer": [[1, 2, 3]]})"), "has shape [1, 3], not [2, 2]");
  EXPECT_THAT(verdict(R"({"X": [[1, 1]], "answer": [[4, 6]]})"), "right");
}

TEST(DeepMl94Lesson, HasThePublishedOutputs) {
  const LessonOutput output = tell("deep-ml-94");
  expect_rows(output, "output", {103, 109, 46, 99});
  expect_rows(output, "output_4_heads", {500, 463, 399, 495, 377, 450, 531, 362});
  expect_rows(output, "output_2_heads", {547, 490, 399, 495, 377, 450, 531, 362});
}

TEST(DeepMl94Lesson, ChecksTheReadersAnswer) {
  const std::string row = "[103, 109, 46, 99]";
  const LessonOutput output =
      tell("deep-ml-94", {}, R"({"answer": [)" + row + "," + row + "," + row + "," + row + "]}");
  EXPECT_EQ(*output.words.find("verdict"), "right");
  EXPECT_NE(output.arrays.find("answer_right"), nullptr);
}

TEST(MultiHeadLesson, NamesBothNumbersIfHeadsDoNotDivideTheWidth) {
  try {
    tell("multi-head", {"heads=3"});
    FAIL() << "4 was split into 3";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_THAT(wrong.what(), testing::AllOf(HasSubstr("4"), HasSubstr("3")));
  }
}

TEST(MultiHeadLesson, WithOneHeadEqualsPlainAttention) {
  const LessonOutput output = tell("multi-head", {"heads=1"});
  EXPECT_LT(largest_difference(array(output, "output"), array(output, "single_output")), 1e-6);
  EXPECT_EQ(number(output, "apart"), 0);
}

}  // namespace
}  // namespace attn::course
