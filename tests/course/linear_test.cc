// Linear attention equals the quadratic form of its own kernel, for any sizes.
#include <gmock/gmock.h>

#include "tests/course/tell.h"

namespace attn::course {
namespace {

TEST(LinearLesson, EqualsTheQuadraticFormOfTheSameKernel) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"runs=1", "batch=1"}, {"runs=1", "batch=1", "n=32", "d=16", "seed=7"}}) {
    const LessonOutput output = tell("linear", settings);
    EXPECT_LT(number(output, "difference"), 1e-5);
    EXPECT_LT(number(output, "causal_difference"), 1e-5);
    EXPECT_LT(number(output, "own_difference"), 1e-5);
    EXPECT_GT(number(output, "softmax_difference"), 1e-3);
    EXPECT_GT(output.measured.find("ratio")->numbers[0], 0);
  }
}

}  // namespace
}  // namespace attn::course
