// tests/nn/parameters_test.cc - trainable parameters and their gradients.
#include "nn/learn/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/errors.h"

namespace attn::nn {
namespace {

using test::argument_error;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Parameters, StartAsZerosAndVectorsAsAsked) {
  Parameters parameters;
  const Learned<2> w = parameters.matrix("w", 3, 4);
  const Learned<1> b = parameters.vector("b", 5, 1.5F);
  EXPECT_FALSE(w.empty());
  EXPECT_TRUE(Learned<1>().empty());
  EXPECT_EQ(std::count(w.value.data, w.value.data + 12, 0.0F), 12);
  EXPECT_EQ(std::count(w.gradient.data, w.gradient.data + 12, 0.0F), 12);
  EXPECT_EQ(std::count(b.value.data, b.value.data + 5, 1.5F), 5);
  EXPECT_EQ(std::count(b.gradient.data, b.gradient.data + 5, 0.0F), 5);
  EXPECT_EQ(parameters.count(), 17);
}

TEST(Parameters, MatricesDecayUnlessSaidOtherwiseAndVectorsDoNot) {
  Parameters parameters;
  parameters.matrix("w", 3, 4);
  parameters.matrix("table", 3, 4, false);
  parameters.vector("b", 5);
  EXPECT_TRUE(parameters.find("w")->decays);
  EXPECT_FALSE(parameters.find("table")->decays);
  EXPECT_FALSE(parameters.find("b")->decays);
  EXPECT_THAT(parameters.find("w")->shape, ElementsAre(3, 4));
  EXPECT_THAT(parameters.find("b")->shape, ElementsAre(5));
  EXPECT_EQ(parameters.find("nothing"), nullptr);
}

TEST(Parameters, KeepTheirAddressesHoweverManyFollow) {
  Parameters parameters;
  const Learned<2> w = parameters.matrix("w", 3, 4);
  const Parameter* const before = parameters.find("w");
  for (int n = 0; n < 1000; ++n) parameters.vector("b" + std::to_string(n), 3);
  EXPECT_EQ(parameters.find("w"), before);
  EXPECT_EQ(parameters.find("w")->value.data(), w.value.data);
  EXPECT_EQ(parameters.all().front().name, "w");
  EXPECT_EQ(parameters.all().back().name, "b999");
}

TEST(Parameters, ClearingGradientsLeavesValues) {
  Parameters parameters;
  const Learned<2> w = parameters.matrix("w", 300, 400);
  const Learned<1> b = parameters.vector("b", 7, 2);
  std::fill_n(w.value.data, 120'000, 3.0F);
  std::fill_n(w.gradient.data, 120'000, 4.0F);
  std::fill_n(b.gradient.data, 7, 5.0F);
  ThreadPool pool(2);
  parameters.clear_gradients(pool);
  EXPECT_EQ(std::count(w.gradient.data, w.gradient.data + 120'000, 0.0F), 120'000);
  EXPECT_EQ(std::count(b.gradient.data, b.gradient.data + 7, 0.0F), 7);
  EXPECT_EQ(std::count(w.value.data, w.value.data + 120'000, 3.0F), 120'000);
  EXPECT_EQ(b.value(6), 2);
}

TEST(Parameters, DuplicateNamesAndEmptyShapesThrow) {
  Parameters parameters;
  parameters.matrix("w", 3, 4);
  EXPECT_THAT(argument_error([&] { parameters.vector("w", 3); }), HasSubstr("duplicate name \"w\""));
  EXPECT_THAT(argument_error([&] { parameters.matrix("v", 3, 0); }), HasSubstr("\"v\" would be 3 x 0"));
  EXPECT_THAT(argument_error([&] { parameters.vector("b", -1); }), HasSubstr("\"b\" would be -1"));
  EXPECT_EQ(parameters.all().size(), 1U);
}

}  // namespace
}  // namespace attn::nn
