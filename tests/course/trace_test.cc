// Checks the published weights, and the reader's own small input.
#include <gmock/gmock.h>

#include "course/compute/lesson_parts.h"
#include "tests/course/tell.h"

namespace attn::course {
namespace {

using testing::ElementsAre;

TEST(TraceLesson, HasThePublishedWeights) {
  const LessonArray known{{3, 3}, {.226958, .526202, .246840, .028802, .867241, .103957, .063337, .805792, .130871}};
  EXPECT_LT(largest_difference(*tell("trace").arrays.find("weights"), known), 1e-6);
}

TEST(TraceLesson, TakesASmallTableAsCsvOrJson) {
  const LessonOutput csv = tell("trace", {}, ",a,b\ncat,1,0\ndog,0,1\n");
  EXPECT_THAT(csv.arrays.find("weights")->shape, ElementsAre(2, 2));
  EXPECT_THAT(csv.arrays.find("weights")->rows, ElementsAre("cat", "dog"));
  EXPECT_EQ(*csv.words.find("sentence"), "cat dog");
  const LessonOutput json = tell("trace", {}, R"({"X": [[1], [2], [3], [4]]})");
  EXPECT_THAT(json.arrays.find("W_q")->shape, ElementsAre(1, 1));
  EXPECT_THAT(json.arrays.find("weights")->rows, ElementsAre("word 0", "word 1", "word 2", "word 3"));
}

TEST(TraceLesson, RejectsAnythingButASmallTable) {
  EXPECT_THROW(tell("trace", {}, R"({"X": [1, 2]})"), std::invalid_argument);
  EXPECT_THROW(tell("trace", {}, R"({"X": [[1, null]]})"), std::invalid_argument);
}

}  // namespace
}  // namespace attn::course
