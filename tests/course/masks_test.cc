// Checks what published texts say about masks, and where they are wrong.
#include <gmock/gmock.h>

#include "tests/course/tell.h"

namespace attn::course {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MasksLesson, CountsThePairsOfPublishedMasks) {
  const LessonOutput output = tell("masks");
  EXPECT_EQ(number(output, "window_pairs"), 34);
  EXPECT_EQ(number(output, "sparse_pairs"), 184);
  EXPECT_NEAR(number(output, "limit"), 0.4375, 1e-12);
  const LessonArray& sparse = array(output, "sparse");
  for (std::int64_t i = 0; i < 16; ++i)
    for (std::int64_t j = 0; j < 16; ++j)
      if (i % 4 == 0 || j % 4 == 0) {
        EXPECT_EQ(sparse.at(i, j), 1) << i << ", " << j;
      }
}

TEST(MasksLesson, HasThePublishedShapes) {
  const LessonOutput output = tell("masks");
  EXPECT_THAT(array(output, "padding_ids1").shape, ElementsAre(2, 1, 5));
  EXPECT_THAT(array(output, "padding_ids2").shape, ElementsAre(2, 1, 5));
  EXPECT_THAT(array(output, "combined").shape, ElementsAre(2, 5, 5));
  EXPECT_THAT(array(output, "both_weights").shape, ElementsAre(2, 5, 5));
  EXPECT_THAT(array(output, "wrong_weights").shape, ElementsAre(2, 2, 5, 5));
}

TEST(MasksLesson, IdsThatAreNotWholeNumbersAreRefused) {
  for (const char* const wrong : {"1e300", "-1e19", "2.5", "null"}) {
    const std::string json = std::string(R"({"ids2": [[1, 2, 3, 0, 0], [4, )") + wrong + ", 6, 7, 0]]}";
    try {
      tell("masks", {}, json);
      ADD_FAILURE() << json;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("ids must be whole numbers, not ")) << json;
    }
  }
}

TEST(MasksLesson, ForbiddenWeightsAreExactlyZeroAndRowsSumToOne) {
  const LessonOutput output = tell("masks");
  const LessonArray& weights = array(output, "both_weights");
  const std::int64_t lengths[] = {3, 4};
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t i = 0; i < 5; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < 5; ++j) {
        const double weight = weights.numbers[static_cast<std::size_t>((b * 5 + i) * 5 + j)];
        if (j > i || j >= lengths[b]) {
          EXPECT_EQ(weight, 0) << b << ", " << i << ", " << j;
        }
        sum += weight;
      }
      EXPECT_NEAR(sum, 1, 1e-6);
    }
  EXPECT_THAT(array(output, "masked_weights").numbers[0], 1);
  EXPECT_THAT(array(output, "masked_weights").numbers[1], 0);
  EXPECT_THAT(array(output, "masked_weights").numbers[2], 0);
}

TEST(MasksLesson, ReportsARowThatSeesNothingAsZeros) {
  const LessonOutput output = tell("masks");
  for (std::int64_t j = 0; j < 3; ++j) {
    EXPECT_EQ(array(output, "blind_weights").at(1, j), 0);
    EXPECT_EQ(array(output, "blind_output").at(1, j), 0);
    EXPECT_NEAR(array(output, "float32_weights").at(1, j), 1.0 / 3, 1e-7);
  }
  EXPECT_THAT(array(output, "blind_rows").numbers, ElementsAre(1));
}

TEST(MasksLesson, TakesTheReadersMask) {
  const LessonOutput output = tell("masks", {"n=6"}, R"json({"mask": "~causal"})json");
  EXPECT_EQ(number(output, "yours_pairs"), 15);
  EXPECT_EQ(number(output, "yours_blind"), 1);
  try {
    tell("masks", {}, R"json({"mask": "casual"})json");
    FAIL() << "'casual' was taken for a mask";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_THAT(wrong.what(), HasSubstr("casual"));
  }
}

}  // namespace
}  // namespace attn::course
