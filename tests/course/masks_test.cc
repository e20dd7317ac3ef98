// What the known texts say of masks, and where they are wrong.
#include <gmock/gmock.h>

#include "tests/course/tell.h"

namespace attn::lesson {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MasksLesson, CountsThePairsOfTheKnownMasks) {
  const Told told = tell("masks");
  EXPECT_EQ(number(told, "window_pairs"), 34);
  EXPECT_EQ(number(told, "sparse_pairs"), 184);
  EXPECT_NEAR(number(told, "limit"), 0.4375, 1e-12);
  const Array& sparse = array(told, "sparse");
  for (std::int64_t i = 0; i < 16; ++i)
    for (std::int64_t j = 0; j < 16; ++j)
      if (i % 4 == 0 || j % 4 == 0) {
        EXPECT_EQ(sparse.at(i, j), 1) << i << ", " << j;
      }
}

TEST(MasksLesson, HasTheKnownShapes) {
  const Told told = tell("masks");
  EXPECT_THAT(array(told, "padding_ids1").shape, ElementsAre(2, 1, 5));
  EXPECT_THAT(array(told, "padding_ids2").shape, ElementsAre(2, 1, 5));
  EXPECT_THAT(array(told, "combined").shape, ElementsAre(2, 5, 5));
  EXPECT_THAT(array(told, "both_weights").shape, ElementsAre(2, 5, 5));
  EXPECT_THAT(array(told, "wrong_weights").shape, ElementsAre(2, 2, 5, 5));
}

TEST(MasksLesson, WhatIsForbiddenIsExactlyZeroAndRowsSumToOne) {
  const Told told = tell("masks");
  const Array& weights = array(told, "both_weights");
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
  EXPECT_THAT(array(told, "masked_weights").numbers[0], 1);
  EXPECT_THAT(array(told, "masked_weights").numbers[1], 0);
  EXPECT_THAT(array(told, "masked_weights").numbers[2], 0);
}

TEST(MasksLesson, ARowThatSeesNothingIsZerosAndIsReported) {
  const Told told = tell("masks");
  for (std::int64_t j = 0; j < 3; ++j) {
    EXPECT_EQ(array(told, "blind_weights").at(1, j), 0);
    EXPECT_EQ(array(told, "blind_output").at(1, j), 0);
    EXPECT_NEAR(array(told, "float32_weights").at(1, j), 1.0 / 3, 1e-7);
  }
  EXPECT_THAT(array(told, "blind_rows").numbers, ElementsAre(1));
}

TEST(MasksLesson, TakesTheReadersMask) {
  const Told told = tell("masks", {"n=6"}, R"json({"mask": "~causal"})json");
  EXPECT_EQ(number(told, "yours_pairs"), 15);
  EXPECT_EQ(number(told, "yours_blind"), 1);
  try {
    tell("masks", {}, R"json({"mask": "casual"})json");
    FAIL() << "'casual' was taken for a mask";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_THAT(wrong.what(), HasSubstr("casual"));
  }
}

}  // namespace
}  // namespace attn::lesson
