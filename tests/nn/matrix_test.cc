// tests/nn/matrix_test.cc - owned memory, small and large.
#include "nn/infer/matrix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <utility>

namespace attn::nn {
namespace {

TEST(AlignedMemory, StartsAtACacheLineAndIsAllThere) {
  for (const std::int64_t bytes : {1, 63, 64, 65, 4096, 100'000, 2 << 20, (2 << 20) + 1, 5'000'001}) {
    const AlignedMemory memory(bytes);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0U) << bytes;
    for (std::int64_t n = 0; n < bytes; ++n) memory.data()[n] = static_cast<std::byte>(n);
    EXPECT_EQ(memory.data()[bytes - 1], static_cast<std::byte>(bytes - 1));
  }
}

TEST(AlignedMemory, OfNothingIsNull) {
  EXPECT_EQ(AlignedMemory(0).data(), nullptr);
  EXPECT_EQ(AlignedMemory().data(), nullptr);
}

TEST(AlignedMemory, FailedAllocationThrows) {
  EXPECT_THROW(AlignedMemory(-1), std::bad_alloc);
  EXPECT_THROW(AlignedMemory(std::int64_t{1} << 60), std::bad_alloc);
}

TEST(AlignedMemory, LargeTakesThePlaceOfSmallAndSmallOfLarge) {
  AlignedMemory a(100);
  AlignedMemory b(10 << 20);
  std::byte* const large = b.data();
  a = std::move(b);
  EXPECT_EQ(a.data(), large);
  a.data()[(10 << 20) - 1] = std::byte{1};
  a = AlignedMemory(64);
  a.data()[63] = std::byte{1};
}

TEST(Matrix, RowsFollowEachOther) {
  Matrix m(3, 5);
  EXPECT_FALSE(m.empty());
  for (int i = 0; i < 15; ++i) m.data()[i] = static_cast<float>(i);
  EXPECT_EQ(m.row(2)[1], 11);
  EXPECT_EQ(m.view()(1, 4), 9);
  const View<float, 2> part = rows_of(m.view(), 1, 2);
  EXPECT_EQ(part.shape, (Shape<2>{2, 5}));
  EXPECT_EQ(part(1, 0), 10);
  EXPECT_TRUE(Matrix(0, 5).empty());
}

}  // namespace
}  // namespace attn::nn
