// A cache against the arrays that were appended to it.
#include "attn/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/numbers.h"

namespace attn {
namespace {

using test::kHuge;

template <typename T>
T element(float x) {
  if constexpr (std::is_same_v<T, Half>) return to_half(x);
  if constexpr (std::is_same_v<T, Bfloat>) return to_bfloat(x);
  if constexpr (std::is_same_v<T, float>) return x;
}

float as_float(float x) { return x; }
float as_float(Half x) { return to_float(x); }
float as_float(Bfloat x) { return to_float(x); }

float read(const AnyView<4>& x, std::int64_t b, std::int64_t g, std::int64_t i, std::int64_t d) {
  const auto at = b * x.strides[0] + g * x.strides[1] + i * x.strides[2] + d * x.strides[3];
  if (x.type == Type::float16) return to_float(static_cast<const Half*>(x.data)[at]);
  if (x.type == Type::bfloat16) return to_float(static_cast<const Bfloat*>(x.data)[at]);
  return static_cast<const float*>(x.data)[at];
}

template <typename T>
struct Tokens {
  Shape<4> shape;
  std::vector<T> numbers;

  explicit Tokens(const Shape<4>& s, unsigned seed = 1) : shape(s) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    numbers.resize(static_cast<std::size_t>(s[0] * s[1] * s[2] * s[3]));
    for (auto& x : numbers) x = element<T>(normal(random));
  }
  [[nodiscard]] View<const T, 4> view() const { return {numbers.data(), shape}; }
};

// Whether tokens [at, at + n) of the cache are x, rounded to the cache's type T.
template <typename T, typename From>
void expect_tokens(const AnyView<4>& cache, std::int64_t at, const View<const From, 4>& x) {
  std::int64_t wrong = 0;
  for (std::int64_t b = 0; b < x.shape[0]; ++b)
    for (std::int64_t g = 0; g < x.shape[1]; ++g)
      for (std::int64_t i = 0; i < x.shape[2]; ++i)
        for (std::int64_t d = 0; d < x.shape[3]; ++d)
          wrong += read(cache, b, g, at + i, d) != as_float(element<T>(as_float(x(b, g, i, d))));
  EXPECT_EQ(wrong, 0) << "of the tokens from " << at << " on";
}

// Resident memory of the cache's address space, from its first key to its last value.
std::int64_t resident_bytes(const KvCache& cache) {
  const auto page = sysconf(_SC_PAGESIZE);
  auto* begin = static_cast<std::byte*>(const_cast<void*>(cache.k().data));
  const auto* end = static_cast<const std::byte*>(cache.v().data) +
                    cache.config().batch * cache.v().strides[0] * std::int64_t(size_of(cache.config().type));
  std::vector<unsigned char> pages(static_cast<std::size_t>((end - begin + page - 1) / page));
  EXPECT_EQ(mincore(begin, static_cast<std::size_t>(end - begin), pages.data()), 0);
  return page * std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

TEST(KvCache, StartsEmptyWithTheShapeOfItsConfig) {
  const KvCache cache({.batch = 2, .heads = 3, .width = 5, .max_tokens = 10, .type = Type::bfloat16});
  EXPECT_EQ(cache.size(), 0);
  EXPECT_EQ(cache.config().value_width, 5);
  EXPECT_EQ(cache.k().shape, (Shape<4>{2, 3, 0, 5}));
  EXPECT_EQ(cache.v().shape, (Shape<4>{2, 3, 0, 5}));
  EXPECT_EQ(cache.k().type, Type::bfloat16);
  EXPECT_EQ(cache.k().strides[3], 1);
}

TEST(KvCache, HoldsWhatWasAppendedInOrder) {
  KvCache cache({.batch = 2, .heads = 3, .width = 7, .value_width = 4, .max_tokens = 100});
  std::int64_t at = 0;
  for (std::int64_t n : {5, 1, 0, 1, 40, 53}) {
    const Tokens<float> k({2, 3, n, 7}, static_cast<unsigned>(n));
    const Tokens<float> v({2, 3, n, 4}, static_cast<unsigned>(n) + 100);
    cache.append(k.view(), v.view());
    expect_tokens<float>(cache.k(), at, k.view());
    expect_tokens<float>(cache.v(), at, v.view());
    at += n;
    EXPECT_EQ(cache.size(), at);
    EXPECT_EQ(cache.k().shape, (Shape<4>{2, 3, at, 7}));
    EXPECT_EQ(cache.v().shape, (Shape<4>{2, 3, at, 4}));
  }
}

TEST(KvCache, GrowsWithoutMovingItsTokens) {
  KvCache cache({.heads = 2, .width = 64, .max_tokens = 20000});
  const Tokens<float> first({1, 2, 3, 64}, 1);
  cache.append(first.view(), first.view());
  const auto k = cache.k();
  const auto v = cache.v();
  const Tokens<float> many({1, 2, 18000, 64}, 2);  // beyond the size from which huge pages are used
  cache.append(many.view(), many.view());
  EXPECT_EQ(cache.k().data, k.data);
  EXPECT_EQ(cache.v().data, v.data);
  EXPECT_EQ(cache.k().strides, k.strides);
  expect_tokens<float>(k, 0, first.view());
  expect_tokens<float>(v, 0, first.view());
  expect_tokens<float>(cache.v(), 3, many.view());
}

template <typename To, typename From>
void check_conversion() {
  KvCache cache({.heads = 2, .width = 19, .max_tokens = 20, .type = type_of<To>});
  const Tokens<From> k({1, 2, 6, 19}, 1);
  const Tokens<From> v({1, 2, 6, 19}, 2);
  cache.append(k.view(), v.view());
  cache.append(v.view(), k.view());
  expect_tokens<To>(cache.k(), 0, k.view());
  expect_tokens<To>(cache.k(), 6, v.view());
  expect_tokens<To>(cache.v(), 0, v.view());
}

TEST(KvCache, EveryTypeIsConvertedToEveryOther) {
  check_conversion<float, float>();
  check_conversion<float, Half>();
  check_conversion<float, Bfloat>();
  check_conversion<Half, float>();
  check_conversion<Half, Half>();
  check_conversion<Half, Bfloat>();
  check_conversion<Bfloat, float>();
  check_conversion<Bfloat, Half>();
  check_conversion<Bfloat, Bfloat>();
}

TEST(KvCache, KeysAndValuesMayHaveDifferentTypes) {
  KvCache cache({.width = 8, .max_tokens = 4, .type = Type::float16});
  const Tokens<Bfloat> k({1, 1, 4, 8}, 1);
  const Tokens<float> v({1, 1, 4, 8}, 2);
  cache.append(k.view(), v.view());
  expect_tokens<Half>(cache.k(), 0, k.view());
  expect_tokens<Half>(cache.v(), 0, v.view());
}

TEST(KvCache, SpecialNumbersArePreserved) {
  KvCache cache({.width = 4, .max_tokens = 1, .type = Type::float16});
  const float numbers[4] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e9f,
                            0x1p-24f};
  const View<const float, 4> x(numbers, {1, 1, 1, 4});
  cache.append(x, x);
  EXPECT_TRUE(std::isnan(read(cache.k(), 0, 0, 0, 0)));
  EXPECT_EQ(read(cache.k(), 0, 0, 0, 1), numbers[1]);
  EXPECT_EQ(read(cache.k(), 0, 0, 0, 2), numbers[1]);
  EXPECT_EQ(read(cache.k(), 0, 0, 0, 3), numbers[3]);
}

// As in a model: [B, tokens, G, D] in memory, viewed as [B, G, tokens, D].
TEST(KvCache, TakesStridedInputs) {
  for (Type type : {Type::float32, Type::float16}) {
    KvCache cache({.batch = 2, .heads = 3, .width = 5, .max_tokens = 8, .type = type});
    const Tokens<float> raw({2, 4, 3, 5});
    const View<const float, 4> swapped(raw.numbers.data(), {2, 3, 4, 5}, {60, 5, 15, 1});
    const View<const float, 4> same_head(raw.numbers.data(), {2, 3, 4, 5}, {60, 0, 15, 1});
    cache.append(swapped, same_head);
    if (type == Type::float32) {
      expect_tokens<float>(cache.k(), 0, swapped);
      expect_tokens<float>(cache.v(), 0, same_head);
    } else {
      expect_tokens<Half>(cache.k(), 0, swapped);
      expect_tokens<Half>(cache.v(), 0, same_head);
    }
  }
}

TEST(KvCache, WrongInputsThrowAndChangeNothing) {
  KvCache cache({.batch = 1, .heads = 2, .width = 4, .value_width = 6, .max_tokens = 5});
  const Tokens<float> k({1, 2, 3, 4});
  const Tokens<float> v({1, 2, 3, 6});
  cache.append(k.view(), v.view());
  const Tokens<float> more_k({1, 2, 2, 4}, 9);
  const Tokens<float> more_v({1, 2, 2, 6}, 9);
  const Tokens<float> wrong_heads({1, 3, 2, 4});
  const Tokens<float> wrong_batch({2, 2, 2, 6});
  const Tokens<float> wrong_tokens({1, 2, 1, 6});
  EXPECT_THROW(cache.append(wrong_heads.view(), more_v.view()), std::invalid_argument);
  EXPECT_THROW(cache.append(more_k.view(), wrong_batch.view()), std::invalid_argument);
  EXPECT_THROW(cache.append(more_k.view(), wrong_tokens.view()), std::invalid_argument);
  EXPECT_THROW(cache.append(more_v.view(), more_k.view()), std::invalid_argument);
  EXPECT_THROW(cache.append(AnyView<4>(), AnyView<4>()), std::invalid_argument);
  EXPECT_THROW(cache.append(View<float, 4>(nullptr, {1, 2, 2, 4}), more_v.view()), std::invalid_argument);
  const View<const float, 4> not_dense(more_k.numbers.data(), {1, 2, 1, 4}, {0, 0, 0, 2});
  EXPECT_THROW(cache.append(not_dense, wrong_tokens.view()), std::invalid_argument);
  EXPECT_EQ(cache.size(), 3);
  expect_tokens<float>(cache.k(), 0, k.view());
  expect_tokens<float>(cache.v(), 0, v.view());
}

TEST(KvCache, ErrorNamesBothShapes) {
  KvCache cache({.heads = 2, .width = 4, .max_tokens = 5});
  const Tokens<float> k({1, 2, 3, 8});
  try {
    cache.append(k.view(), k.view());
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("[1, 2, 3, 8]"), testing::HasSubstr("[1, 2, 3, 4]")));
  }
}

TEST(KvCache, TokenBeyondTheLastThrowsAndChangesNothing) {
  KvCache cache({.width = 2, .max_tokens = 4});
  const Tokens<float> three({1, 1, 3, 2}, 1);
  const Tokens<float> two({1, 1, 2, 2}, 2);
  const Tokens<float> one({1, 1, 1, 2}, 3);
  cache.append(three.view(), three.view());
  EXPECT_THROW(cache.append(two.view(), two.view()), std::length_error);
  EXPECT_EQ(cache.size(), 3);
  cache.append(one.view(), one.view());
  EXPECT_THROW(cache.append(one.view(), one.view()), std::length_error);
  EXPECT_EQ(cache.size(), 4);
  expect_tokens<float>(cache.k(), 0, three.view());
  expect_tokens<float>(cache.k(), 3, one.view());
}

TEST(KvCache, SizesAreChecked) {
  EXPECT_THROW(KvCache({.batch = 0}), std::invalid_argument);
  EXPECT_THROW(KvCache({.heads = -1}), std::invalid_argument);
  EXPECT_THROW(KvCache({.width = 0}), std::invalid_argument);
  EXPECT_THROW(KvCache({.value_width = -1}), std::invalid_argument);
  EXPECT_THROW(KvCache({.max_tokens = 0}), std::invalid_argument);
}

TEST(KvCache, FailedReservationThrowsBadAlloc) {
  EXPECT_THROW(KvCache({.max_tokens = kHuge}), std::bad_alloc);
  EXPECT_THROW(KvCache({.batch = kHuge, .heads = kHuge}), std::bad_alloc);
  EXPECT_THROW(KvCache({.width = kHuge / 2, .max_tokens = 3}), std::bad_alloc);
  EXPECT_THROW(KvCache({.heads = 1 << 20, .max_tokens = std::int64_t{1} << 33}), std::bad_alloc);
}

TEST(KvCache, TruncateKeepsTheFirstTokens) {
  KvCache cache({.heads = 2, .width = 3, .max_tokens = 10});
  const Tokens<float> eight({1, 2, 8, 3}, 1);
  const Tokens<float> two({1, 2, 2, 3}, 2);
  cache.append(eight.view(), eight.view());
  EXPECT_THROW(cache.truncate(9), std::invalid_argument);
  EXPECT_THROW(cache.truncate(-1), std::invalid_argument);
  EXPECT_EQ(cache.size(), 8);
  cache.truncate(5);
  cache.append(two.view(), two.view());
  EXPECT_EQ(cache.size(), 7);
  const View<const float, 4> five(eight.numbers.data(), {1, 2, 5, 3}, {48, 24, 3, 1});
  expect_tokens<float>(cache.k(), 0, five);
  expect_tokens<float>(cache.k(), 5, two.view());
  cache.truncate(0);
  EXPECT_EQ(cache.size(), 0);
}

TEST(KvCache, MemoryGrowsWithTokensAndShrinksWithTruncate) {
  constexpr std::int64_t kTokens = 1 << 16;
  KvCache cache({.heads = 4, .width = 64, .max_tokens = 1 << 20});  // 2 GiB of address space
  EXPECT_EQ(resident_bytes(cache), 0);
  const Tokens<float> one({1, 4, 1, 64}, 7);
  cache.append(one.view(), one.view());
  EXPECT_GT(resident_bytes(cache), 0);
  EXPECT_LE(resident_bytes(cache), 1 << 20) << "a first token takes a page a head, not huge pages";
  const View<const float, 4> same_token(one.numbers.data(), {1, 4, kTokens, 64}, {0, 64, 0, 1});
  cache.append(same_token, same_token);
  EXPECT_GE(resident_bytes(cache), 128 << 20);
  EXPECT_LE(resident_bytes(cache), (128 + 8 * 2) << 20) << "at most a huge page more for each head's keys and values";
  cache.truncate(1);
  EXPECT_LE(resident_bytes(cache), (1 + 8 * 2) << 20);
  expect_tokens<float>(cache.k(), 0, one.view());
  expect_tokens<float>(cache.v(), 0, one.view());
  cache.append(one.view(), one.view());
  expect_tokens<float>(cache.v(), 1, one.view());
}

TEST(KvCache, HeadsAreAlignedButDoNotShareACacheSet) {
  const KvCache cache({.heads = 8, .width = 64, .max_tokens = 1 << 15});
  for (const auto& x : {cache.k(), cache.v()}) {
    const auto bytes = static_cast<std::uint64_t>(x.strides[1]) * sizeof(float);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data) % 64, 0u);
    EXPECT_EQ(bytes % 64, 0u);
    for (std::uint64_t h = 1; h < 8; ++h) EXPECT_NE(h * bytes % 4096, 0u);
  }
}

TEST(KvCache, MovedFromCacheIsEmptyAndRefusesTokens) {
  KvCache a({.width = 2, .max_tokens = 4});
  const Tokens<float> x({1, 1, 2, 2});
  a.append(x.view(), x.view());
  const void* data = a.k().data;
  KvCache b(std::move(a));
  EXPECT_EQ(b.k().data, data);
  EXPECT_EQ(b.size(), 2);
  EXPECT_EQ(a.size(), 0);                                         // NOLINT
  EXPECT_TRUE(a.k().empty());                                     // NOLINT
  EXPECT_THROW(a.append(x.view(), x.view()), std::length_error);  // NOLINT
  KvCache c({.heads = 5, .width = 3, .max_tokens = 7});
  c = std::move(b);
  EXPECT_EQ(c.k().data, data);
  EXPECT_EQ(c.config().max_tokens, 4);
  expect_tokens<float>(c.v(), 0, x.view());
  auto& same = c;
  c = std::move(same);
  EXPECT_EQ(c.k().data, data);
  EXPECT_EQ(c.size(), 2);
  a = KvCache({.width = 2, .max_tokens = 9});
  a.append(x.view(), x.view());
  expect_tokens<float>(a.k(), 0, x.view());
}

}  // namespace
}  // namespace attn
