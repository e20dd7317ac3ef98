// tests/engine/attention/attention_extremes_test.cc - NaN, infinities, huge scores and rows that see no key: which
// results they change and which they must not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "tests/support/numbers.h"
#include "tests/support/problem.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

bool row_is(const Results& r, const Shape<3>& row, const std::function<bool(float)>& says) {
  for (std::int64_t e = 0; e < r.out.shape()[3]; ++e)
    if (!says(r.out.get({row[0], row[1], row[2], e}))) return false;
  return true;
}

bool is_nan(float x) { return std::isnan(x); }

// Few enough queries for the decode path, and enough for the tiles; keys end inside a tile.
std::vector<Sizes> some_sizes() {
  return {{2, 4, 2, 3, 70, 16, 16}, {2, 4, 2, 50, 70, 16, 24}, {1, 1, 1, 1, 9, 64, 64}};
}

TEST(Extremes, NanInAQueryMakesThatRowNanAndNoOther) {
  on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const Sizes& s : some_sizes()) {
      SCOPED_TRACE(s.text());
      Problem p = plain_problem(s);
      const Results clean = run(p);
      const Shape<3> hit{s.B - 1, s.H / 2, s.N / 2};
      p.q.set({hit[0], hit[1], hit[2], s.D - 1}, kNan);
      const Results r = run(p);
      EXPECT_TRUE(row_is(r, hit, is_nan));
      EXPECT_TRUE(std::isnan(r.lse.get({0, hit[0], hit[1], hit[2]})));
      each(r.out.shape(), [&](const Shape<4>& at) {
        if (Shape<3>{at[0], at[1], at[2]} != hit) {
          EXPECT_NEAR(r.out.get(at), clean.out.get(at), 2e-6);
        }
      });
    }
  });
}

TEST(Extremes, NanInAnAllowedKeyMakesItsGroupNan) {
  for (const Sizes& s : some_sizes()) {
    SCOPED_TRACE(s.text());
    Problem p = plain_problem(s);
    const Results clean = run(p);
    p.k.set({0, 0, s.M - 1, 0}, kNan);
    const Results r = run(p);
    each({s.B, s.H, s.N, 1}, [&](const Shape<4>& at) {
      const Shape<3> row{at[0], at[1], at[2]};
      if (at[0] == 0 && at[1] < s.H / s.G) {
        EXPECT_TRUE(row_is(r, row, is_nan));
      } else {
        EXPECT_FALSE(row_is(r, row, is_nan));
      }
    });
  }
}

TEST(Extremes, NanInAnAllowedValueMakesItsColumnNanAndLseStays) {
  for (const Sizes& s : some_sizes()) {
    SCOPED_TRACE(s.text());
    Problem p = plain_problem(s);
    const Results clean = run(p);
    p.v.set({0, 0, s.M / 2, 3}, kNan);
    const Results r = run(p);
    EXPECT_TRUE(same_bits(clean.lse, r.lse));
    each(r.out.shape(), [&](const Shape<4>& at) {
      const bool hit = at[0] == 0 && at[1] < s.H / s.G && at[3] == 3;
      EXPECT_EQ(std::isnan(r.out.get(at)), hit);
    });
  }
}

// Numbers that a caller may leave in masked keys and values.
struct Poison {
  float value;
  bool in_key, in_value;
};
std::vector<Poison> poisons() {
  return {{kNan, true, true},       {kInfinity, true, false}, {-kInfinity, true, true},
          {kInfinity, false, true}, {3e38F, true, true},      {kNan, false, true}};
}

void poison_key(Problem& p, std::int64_t j, const Poison& poison) {
  for (std::int64_t b = 0; b < p.sizes.B; ++b)
    for (std::int64_t g = 0; g < p.sizes.G; ++g) {
      for (std::int64_t d = 0; d < p.sizes.D && poison.in_key; ++d) p.k.set({b, g, j, d}, poison.value);
      for (std::int64_t e = 0; e < p.sizes.E && poison.in_value; ++e) p.v.set({b, g, j, e}, poison.value);
    }
}

// The number of elements that differ in the rows `blind`; rows lie along `axis`.
template <typename F>
std::int64_t changed(const Tensor& a, const Tensor& b, std::size_t axis, F&& blind) {
  std::int64_t count = 0;
  each(a.shape(), [&](const Shape<4>& at) { count += blind(at[axis]) && a.get(at) != b.get(at) ? 1 : 0; });
  return count;
}

TEST(Extremes, ForbiddenKeyChangesNoBitWhateverItHolds) {
  const char* masks[] = {"padding(61)", "window(8)", "~prefix(9) | causal(-100)", "block(64)", "document"};
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    for (const std::int64_t n : {1, 3, 70})
      for (const std::string text : masks)
        for (const Poison& poison : poisons()) {
          SCOPED_TRACE(text + " N " + std::to_string(n) + " poison " + std::to_string(poison.value));
          Problem p = plain_problem({2, 2, 1, n, 70, 24, 16});
          if (text == "document" && n != 70) continue;
          std::vector<std::int64_t> ids(70, 0);
          for (std::size_t i = 40; i < 70; ++i) ids[i] = 1;
          p.options.mask = text == "document" ? Mask(Document{ids}) : parse_mask(text);
          const Results clean = run(p, 1, true);
          std::vector<bool> hit(static_cast<std::size_t>(n));
          const std::int64_t key = text[0] == '~' ? 4 : 65;
          for (std::int64_t i = 0; i < n; ++i) hit[i] = p.options.mask.allows(0, 0, i, key);
          poison_key(p, key, poison);
          const Results r = run(p, 1, true);
          const auto blind = [&](std::int64_t i) { return !hit[i]; };
          EXPECT_EQ(changed(r.out, clean.out, 2, blind), 0);
          EXPECT_EQ(changed(r.weights, clean.weights, 2, blind), 0);
          EXPECT_EQ(changed(r.lse, clean.lse, 3, blind), 0);
        }
  });
}

// Some rows of a tile see the key and some do not: those above the diagonal must not change.
TEST(Extremes, NanOnTheDiagonalHitsOnlyTheRowsThatSeeIt) {
  on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const std::int64_t key : {0, 5, 11, 12, 37, 63, 64, 69})
      for (const Poison& poison : poisons()) {
        SCOPED_TRACE(std::to_string(key) + " poison " + std::to_string(poison.value));
        Problem p = plain_problem({1, 2, 1, 70, 70, 16, 16});
        p.options.mask = Causal{};
        const Results clean = run(p);
        poison_key(p, key, poison);
        const Results r = run(p);
        EXPECT_EQ(changed(r.out, clean.out, 2, [&](std::int64_t i) { return i < key; }), 0);
        EXPECT_EQ(changed(r.lse, clean.lse, 3, [&](std::int64_t i) { return i < key; }), 0);
        for (std::int64_t i = key; i < 70 && std::isnan(poison.value); ++i) {
          EXPECT_TRUE(row_is(r, {0, 1, i}, is_nan)) << i;
        }
      }
  });
}

TEST(Extremes, NanInTheBiasOfAForbiddenPairChangesNothing) {
  Problem p = plain_problem({1, 1, 1, 30, 70, 8, 8});
  p.options.mask = Causal{};
  p.give_dense_bias(4, {1, 1, 30, 70});
  const Results clean = run(p);
  for (std::int64_t i = 0; i < 30; ++i)
    for (std::int64_t j = i + 1; j < 70; ++j) p.dense_bias[i * 70 + j] = j % 2 == 0 ? kNan : kInfinity;
  const Results r = run(p);
  EXPECT_TRUE(same_bits(clean.out, r.out) && same_bits(clean.lse, r.lse));
}

TEST(Extremes, ScoresBeyond1e30TakeEverything) {
  on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const std::int64_t n : {1, 30}) {
      Problem p = plain_problem({1, 1, 1, n, 130, 8, 8});
      p.q.fill_with(1e16F);
      p.options.scale = 1.0F;
      p.k.set({0, 0, 100, 0}, 1e16F);  // 1e32 next to about 1e16
      const Results one = run(p, 1, true);
      each(one.out.shape(), [&](const Shape<4>& at) { EXPECT_EQ(one.out.get(at), p.v.get({0, 0, 100, at[3]})); });
      EXPECT_NEAR(one.lse.get({0, 0, 0, 0}) / 1e32, 1, 1e-6);
      EXPECT_EQ(one.weights.get({0, 0, 0, 100}), 1);
      for (std::int64_t d = 0; d < 8; ++d) p.k.set({0, 0, 7, d}, p.k.get({0, 0, 100, d}));
      const Results two = run(p);
      each(two.out.shape(), [&](const Shape<4>& at) {
        EXPECT_NEAR(two.out.get(at), (p.v.get({0, 0, 100, at[3]}) + p.v.get({0, 0, 7, at[3]})) / 2, 1e-5);
      });
    }
  });
}

TEST(Extremes, ScoresFarBelowZeroStillMakeWeightsThatSumToOne) {
  Problem p = plain_problem({1, 1, 1, 30, 130, 8, 8});
  std::vector<float> low(130, -9e8F);
  p.options.dense_bias = {low.data(), {1, 1, 1, 130}};
  p.options.scale = 0.0F;
  const Results r = run(p, 1, true);
  each(r.weights.shape(), [&](const Shape<4>& at) { EXPECT_NEAR(r.weights.get(at), 1.0 / 130, 1e-6); });
  EXPECT_NEAR(r.lse.get({0, 0, 0, 0}), -9e8, 100);
}

TEST(Extremes, ScoreOfMinusInfinityHasNoWeight) {
  for (const std::int64_t n : {1, 30}) {
    Problem p = plain_problem({1, 1, 1, n, 70, 8, 8});
    p.q.fill_with(1.0F);
    p.options.mask = Padding{{69}};
    const Results without = run(p);
    p.options.mask = {};
    p.k.set({0, 0, 69, 0}, -kInfinity);
    const Results with = run(p, 1, true);
    EXPECT_LE(distance(with.out, without.out), 2e-6);
    EXPECT_LE(distance(with.lse, without.lse), 2e-6);
    EXPECT_EQ(with.weights.get({0, 0, 0, 69}), 0);
  }
}

TEST(Extremes, AllScoresMinusInfinityEqualsSeeingNoKey) {
  on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const std::int64_t n : {1, 30}) {
      Problem p = plain_problem({1, 1, 1, n, 130, 8, 8});
      p.q.fill_with(1.0F);
      for (std::int64_t j = 0; j < 130; ++j) p.k.set({0, 0, j, 3}, -kInfinity);
      const Results r = run(p, 1, true);
      each(r.out.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.out.get(at), 0); });
      each(r.lse.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.lse.get(at), -kInfinity); });
      each(r.weights.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.weights.get(at), 0); });
    }
  });
}

TEST(Extremes, ScoreOfPlusInfinityHitsNoOtherRow) {
  Problem p = plain_problem({1, 1, 1, 30, 70, 8, 8});
  const Results clean = run(p);
  for (std::int64_t d = 0; d < 8; ++d) p.q.set({0, 0, 13, d}, 3e38F * (p.k.get({0, 0, 20, d}) < 0 ? -1.0F : 1.0F));
  const Results r = run(p);
  EXPECT_FALSE(std::isfinite(r.lse.get({0, 0, 0, 13})));
  each(r.out.shape(), [&](const Shape<4>& at) {
    if (at[2] != 13) {
      EXPECT_NEAR(r.out.get(at), clean.out.get(at), 2e-6);
    }
  });
}

TEST(Extremes, RowWithNoAllowedKeyIsZeroNotNan) {
  on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const char* text :
         {"causal(-20)", "padding(0)", "~everything", "window(3) & causal(-10)", "padding(64) & ~prefix(64)"})
      for (const std::int64_t n : {1, 12, 90}) {
        SCOPED_TRACE(text);
        Problem p = plain_problem({1, 2, 1, n, 90, 16, 16});
        p.options.mask = parse_mask(text);
        const Results r = run(p, 1, true);
        each({1, 2, n, 1}, [&](const Shape<4>& at) {
          bool sees = false;
          for (std::int64_t j = 0; j < 90; ++j) sees = sees || p.options.mask.allows(0, at[1], at[2], j);
          EXPECT_EQ(row_is(r, {0, at[1], at[2]}, [](float x) { return x == 0; }), !sees) << at[2];
          EXPECT_EQ(r.lse.get({0, 0, at[1], at[2]}) == -kInfinity, !sees) << at[2];
        });
        each(r.weights.shape(), [&](const Shape<4>& at) { ASSERT_TRUE(std::isfinite(r.weights.get(at))); });
      }
  });
}

TEST(Extremes, TinyAndHugeValuesKeepTheirSize) {
  for (const float size : {1e-30F, 1e30F}) {
    Problem p = plain_problem({1, 1, 1, 30, 70, 8, 8});
    const Results plain = run(p);
    each(p.v.shape(), [&](const Shape<4>& at) { p.v.set(at, p.v.get(at) * size); });
    const Results r = run(p);
    each(r.out.shape(), [&](const Shape<4>& at) { EXPECT_NEAR(r.out.get(at) / size, plain.out.get(at), 1e-5); });
  }
}

}  // namespace
}  // namespace attn::test
