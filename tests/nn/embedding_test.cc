// tests/nn/embedding_test.cc - rows looked up in tables of every type.
#include "nn/infer/embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using test::GappedRows;
using test::Weights;

TEST(Embedding, RowsAreExactWhateverTheTypeAndWhereverTheyStart) {
  test::on_every_target([](const char* target) {
    for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
      for (const std::int64_t width : {1, 5, 16, 33, 100}) {
        SCOPED_TRACE(target + std::string(", width ") + std::to_string(width));
        const auto table = Weights(20, width, type, 1).fill(1);
        const std::vector<std::int32_t> ids = {3, 0, 19, 3};
        GappedRows out(4, width, 2);
        embed(table.view(), ids, out.view());
        for (std::int64_t i = 0; i < 4; ++i) {
          for (std::int64_t j = 0; j < width; ++j)
            EXPECT_EQ(out.at(i, j), table.get(ids[static_cast<std::size_t>(i)], j));
        }
        add_embedded(table.view(), ids, out.view());
        for (std::int64_t j = 0; j < width; ++j) EXPECT_EQ(out.at(2, j), 2 * table.get(19, j));
        EXPECT_TRUE(out.gaps_are_whole());
      }
    }
  });
}

TEST(Embedding, SmallHalvesInfinitiesAndNanSurvive) {
  test::on_every_target([](const char* target) {
    std::vector<Half> halves;
    for (std::uint32_t bits = 0; bits < 65536; bits += 7) halves.push_back({static_cast<std::uint16_t>(bits)});
    const std::vector<float> floats = as_floats(View<const Half, 1>(halves.data(), {std::ssize(halves)}));
    ASSERT_EQ(floats.size(), halves.size());
    for (std::size_t n = 0; n < floats.size(); ++n) {
      const float want = to_float(halves[n]);
      EXPECT_TRUE(floats[n] == want || (std::isnan(want) && std::isnan(floats[n]))) << target << " " << halves[n].bits;
    }
  });
}

TEST(Embedding, NumbersAsFloats) {
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
    const auto x = Weights(1, 37, type, 3).fill(2);
    const std::vector<float> floats = as_floats(x.flat());
    ASSERT_EQ(floats.size(), 37U);
    for (std::int64_t n = 0; n < 37; ++n) EXPECT_EQ(floats[static_cast<std::size_t>(n)], x.get(n));
  }
  EXPECT_TRUE(as_floats(AnyView<1>()).empty());
}

TEST(Embedding, ResultOfAnotherShapeThrows) {
  const auto table = Weights(4, 6, Type::float32).fill(1);
  const std::vector<std::int32_t> ids = {1, 2};
  GappedRows narrow(2, 5), tall(3, 6);
  EXPECT_THROW(embed(table.view(), ids, narrow.view()), std::invalid_argument);
  EXPECT_THROW(add_embedded(table.view(), ids, tall.view()), std::invalid_argument);
}

TEST(Embedding, GradientsAreAddedInTheOrderOfTheTokens) {
  test::on_every_target([](const char* target) {
    for (const std::int64_t width : {1, 5, 16, 33, 100}) {
      SCOPED_TRACE(target + std::string(", width ") + std::to_string(width));
      const std::vector<std::int32_t> ids = {3, 0, 19, 3, 3};
      const auto d_out = GappedRows(5, width, 1).fill(2);
      const auto before = GappedRows(20, width, 3).fill(3);
      auto gradient = before;
      ThreadPool pool(2);
      embed_backward(ids, d_out.view(), gradient.view(), pool);
      auto want = before;
      for (std::int64_t i = 0; i < 5; ++i)
        for (std::int64_t j = 0; j < width; ++j) want.at(ids[static_cast<std::size_t>(i)], j) += d_out.at(i, j);
      EXPECT_TRUE(gradient.same_bits(want));
      EXPECT_TRUE(gradient.gaps_are_whole());
    }
  });
}

TEST(Embedding, GradientsHaveTheSameBitsForAnyNumberOfThreads) {
  std::vector<std::int32_t> ids;
  for (std::uint64_t n = 0; n < 5000; ++n) ids.push_back(static_cast<std::int32_t>(test::hash(n) % 50));
  const auto d_out = GappedRows(5000, 70).fill(2);
  const auto before = GappedRows(50, 70).fill(3);
  auto want = before;
  ThreadPool one(1);
  embed_backward(ids, d_out.view(), want.view(), one);
  EXPECT_FALSE(want.same_bits(before));
  for (const int threads : {2, 3}) {
    auto got = before;
    ThreadPool pool(threads);
    embed_backward(ids, d_out.view(), got.view(), pool);
    EXPECT_TRUE(got.same_bits(want)) << threads;
  }
}

TEST(Embedding, NoTokensOrAnotherShapeChangeNothing) {
  auto gradient = GappedRows(4, 6).fill(1);
  const auto before = gradient, d_out = GappedRows(2, 6).fill(2), narrow = GappedRows(2, 5).fill(3);
  const std::vector<std::int32_t> ids = {1, 2, 3}, two = {1, 2};
  ThreadPool pool(1);
  embed_backward({}, GappedRows(0, 6).view(), gradient.view(), pool);
  EXPECT_THROW(embed_backward(ids, d_out.view(), gradient.view(), pool), std::invalid_argument);
  EXPECT_THROW(embed_backward(two, narrow.view(), gradient.view(), pool), std::invalid_argument);
  EXPECT_TRUE(gradient.same_bits(before));
}

}  // namespace
}  // namespace attn::nn
