#include "nn/infer/numpy_random.h"

#include <gtest/gtest.h>

namespace attn::nn {
namespace {

TEST(NumpyRandom, GivesTheNumbersThatNumpyDoes) {
  // numpy.random.seed(42); numpy.random.randn(5)
  NumpyRandom normal(42);
  for (const double expected :
       {0.4967141530112327, -0.13826430117118466, 0.6476885381006925, 1.5230298564080254, -0.23415337472333597}) {
    EXPECT_NEAR(normal.normal(), expected, 1e-15);
  }
  // numpy.random.seed(42); numpy.random.rand(3)
  NumpyRandom uniform(42);
  for (const double expected : {0.3745401188473625, 0.9507143064099162, 0.7319939418114051})
    EXPECT_EQ(uniform.uniform(), expected);
}

}  // namespace
}  // namespace attn::nn
