// tests/engine/attention/attention_test.cc - attention() against the textbook, and its mathematical properties.
#include "attn/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/problem.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

constexpr std::uint64_t kBatches = 32, kProblemsEach = 25;  // 800 problems

class RandomProblems : public testing::TestWithParam<std::uint64_t> {};

// Any layout for the results, except one with aliasing elements (shared), which cannot be written.
Layout result_layout(std::uint64_t seed) {
  constexpr Layout layouts[] = {Layout::dense, Layout::transposed, Layout::sliced, Layout::reversed};
  return layouts[seed % 4];
}

TEST_P(RandomProblems, AgreeWithTheTextbookOnEveryTarget) {
  for (std::uint64_t seed = GetParam() * kProblemsEach; seed < (GetParam() + 1) * kProblemsEach; ++seed) {
    const Problem p = random_problem(seed);
    SCOPED_TRACE(p.text);
    const Textbook book = textbook(p.inputs(), p.options);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      const bool with_weights = seed % 3 == 0;
      Results r(p.sizes, with_weights, result_layout(seed));
      ThreadPool pool(1 + static_cast<int>(seed % 2));
      if (with_weights)
        attention(p.inputs(), p.options, r.out.floats(), r.lse_view(), r.weights_view(), pool);
      else
        attention(p.inputs(), p.options, r.out.floats(), r.lse_view(), pool);
      EXPECT_TRUE(out_agrees(book, r.out.floats()));
      EXPECT_TRUE(lse_agrees(book, r.lse_view()));
      EXPECT_EQ(r.out.spoiled() + r.lse.spoiled(), 0) << "numbers outside the views were written";
      if (with_weights) {
        EXPECT_TRUE(weights_agree(book, r.weights_view()));
        EXPECT_EQ(r.weights.spoiled(), 0);
      }
    });
  }
}
INSTANTIATE_TEST_SUITE_P(Batch, RandomProblems, testing::Range(std::uint64_t{0}, kBatches));

// So many keys that a plan stores no row of tiles: the mask is evaluated while the keys are visited.
TEST(AttentionLongRows, OfMasksThatAPlanDoesNotStoreAgreeWithTheTextbook) {
  const Sizes s{1, 2, 1, 30, 17'000, 8, 8};
  for (const char* text : {"sparse(3)", "sparse(5) & causal(16950)", "~dilated(inf,7)"}) {
    SCOPED_TRACE(text);
    Problem p = plain_problem(s);
    p.options.mask = parse_mask(text);
    const TilePlan plan(p.options.mask, {s.B, s.H, s.N, s.M});
    ASSERT_EQ(plan.row(0, 0, 1).front().bits, TileSpan::kMixed);
    const Textbook book = textbook(p.inputs(), p.options);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      Results r(s, true);
      ThreadPool pool(2);
      attention(p.inputs(), p.options, r.out.floats(), r.lse_view(), pool);
      EXPECT_TRUE(out_agrees(book, r.out.floats()));
      EXPECT_TRUE(lse_agrees(book, r.lse_view()));
      Options planned = p.options;
      planned.plan = &plan;
      weights(p.inputs(), planned, r.lse_view(), {0, 0}, r.weights_view(), pool);
      EXPECT_TRUE(weights_agree(book, r.weights_view()));
    });
  }
}

// Shapes for these properties: several tiles of rows and keys, the last ones not full.
std::vector<Sizes> law_sizes() {
  return {{1, 1, 1, 1, 1, 1, 1},       {2, 4, 2, 13, 65, 16, 24},     {1, 2, 2, 64, 64, 64, 64},
          {1, 3, 1, 100, 257, 40, 33}, {2, 2, 1, 129, 128, 128, 128}, {1, 4, 1, 1, 700, 64, 64},
          {1, 8, 2, 5, 1025, 32, 32}};
}

std::vector<std::uint8_t> random_bits(const Shape<4>& shape, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (auto& bit : bits) bit = random.chance(0.7) ? 1 : 0;
  return bits;
}

TEST(AttentionLaw, OrderOfKeysDoesNotMatter) {
  for (const Sizes& s : law_sizes()) {
    SCOPED_TRACE(s.text());
    Problem p = plain_problem(s);
    std::vector<std::int64_t> order(static_cast<std::size_t>(s.M));
    std::iota(order.begin(), order.end(), 0);
    Random random(7);
    for (std::int64_t j = s.M - 1; j > 0; --j) std::swap(order[j], order[random.below(j + 1)]);
    const Shape<4> shape{s.B, 1, s.N, s.M};
    const auto bits = random_bits(shape, 3);
    Problem shuffled = plain_problem(s);
    auto shuffled_bits = bits;
    for (std::size_t at = 0; at < bits.size(); ++at)
      shuffled_bits[at] = bits[at - at % s.M + static_cast<std::size_t>(order[at % s.M])];
    each(p.k.shape(), [&](const Shape<4>& at) { shuffled.k.set(at, p.k.get({at[0], at[1], order[at[2]], at[3]})); });
    each(p.v.shape(), [&](const Shape<4>& at) { shuffled.v.set(at, p.v.get({at[0], at[1], order[at[2]], at[3]})); });
    p.options.mask = table(View<const std::uint8_t, 4>(bits.data(), shape));
    shuffled.options.mask = table(View<const std::uint8_t, 4>(shuffled_bits.data(), shape));
    const Results a = run(p), b = run(shuffled);
    EXPECT_LE(distance(a.out, b.out), 1e-5);
    EXPECT_LE(distance(a.lse, b.lse), 1e-5);
  }
}

TEST(AttentionLaw, TwoHalvesOfTheKeysMergedThroughLseAreTheWhole) {
  for (const Sizes& s : law_sizes()) {
    if (s.M < 2) continue;
    SCOPED_TRACE(s.text());
    const Problem p = plain_problem(s);
    const std::int64_t cut = s.M / 3 + 1;
    const Inputs in = p.inputs();
    const Results whole = run(p);
    const Results left = run({in.q, part(in.k, 2, 0, cut), part(in.v, 2, 0, cut)}, {});
    const Results right = run({in.q, part(in.k, 2, cut, s.M - cut), part(in.v, 2, cut, s.M - cut)}, {});
    Tensor out(whole.out.shape()), lse(whole.lse.shape());
    each(lse.shape(), [&](const Shape<4>& at) {
      const double a = left.lse.get(at), b = right.lse.get(at);
      const double both = std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
      lse.set(at, static_cast<float>(both));
      for (std::int64_t e = 0; e < s.E; ++e) {
        const Shape<4> to{at[1], at[2], at[3], e};
        out.set(to, static_cast<float>(std::exp(a - both) * left.out.get(to) + std::exp(b - both) * right.out.get(to)));
      }
    });
    EXPECT_LE(distance(whole.out, out), 1e-5);
    EXPECT_LE(distance(whole.lse, lse), 1e-5);
  }
}

TEST(AttentionLaw, SharedKeyHeadsEqualRepeatedOnes) {
  for (const Sizes& s : law_sizes()) {
    SCOPED_TRACE(s.text());
    const Problem grouped = plain_problem(s);
    Sizes wide = s;
    wide.G = s.H;
    Problem repeated = plain_problem(wide);
    const std::int64_t share = s.H / s.G;
    const auto from = [&](const Shape<4>& at) { return Shape<4>{at[0], at[1] / share, at[2], at[3]}; };
    each(repeated.k.shape(), [&](const Shape<4>& at) { repeated.k.set(at, grouped.k.get(from(at))); });
    each(repeated.v.shape(), [&](const Shape<4>& at) { repeated.v.set(at, grouped.v.get(from(at))); });
    const Results a = run(grouped), b = run(repeated);
    EXPECT_LE(distance(a.out, b.out), 1e-5);
    EXPECT_LE(distance(a.lse, b.lse), 1e-5);
  }
}

TEST(AttentionLaw, RowDependsOnItsOwnQueryAlone) {
  for (const Sizes& s : law_sizes()) {
    SCOPED_TRACE(s.text());
    Problem p = plain_problem(s);
    const Results before = run(p);
    const std::int64_t row = s.N / 2;
    each(p.q.shape(), [&](const Shape<4>& at) {
      if (at[2] != row) p.q.set(at, 30 - p.q.get(at));
    });
    const Results after = run(p);
    each(before.out.shape(), [&](const Shape<4>& at) {
      if (at[2] == row) {
        EXPECT_NEAR(before.out.get(at), after.out.get(at), 2e-6);
      }
    });
  }
}

TEST(AttentionLaw, EqualValuesComeOutUnchanged) {
  for (const Sizes& s : law_sizes()) {
    SCOPED_TRACE(s.text());
    Problem p = plain_problem(s);
    p.v.fill_with(3.25F);
    const Results same = run(p);
    each(same.out.shape(), [&](const Shape<4>& at) { EXPECT_NEAR(same.out.get(at), 3.25F, 4e-6); });
  }
}

TEST(AttentionLaw, ShiftingAllScoresChangesOnlyLse) {
  for (const Sizes& s : law_sizes()) {
    SCOPED_TRACE(s.text());
    Problem p = plain_problem(s);
    const Results before = run(p);
    const std::vector<float> seven(static_cast<std::size_t>(s.M), 7.0F);
    p.options.dense_bias = {seven.data(), {1, 1, 1, s.M}};
    const Results after = run(p);
    EXPECT_LE(distance(before.out, after.out), 1e-5);
    each(before.lse.shape(), [&](const Shape<4>& at) { EXPECT_NEAR(before.lse.get(at) + 7, after.lse.get(at), 1e-5); });
  }
}

TEST(AttentionLaw, CausalWithAnOffsetIsTheLowerPartOfTheWhole) {
  const Sizes s{2, 4, 2, 150, 150, 24, 16};
  Problem p = plain_problem(s);
  p.options.mask = Causal{};
  const Results whole = run(p);
  for (const std::int64_t first : {1, 11, 12, 64, 65, 149}) {
    SCOPED_TRACE(first);
    Options options;
    options.mask = Causal{first};
    const Inputs in = p.inputs();
    const Results lower = run({part(in.q, 2, first, s.N - first), in.k, in.v}, options);
    each(lower.out.shape(), [&](const Shape<4>& at) {
      EXPECT_NEAR(lower.out.get(at), whole.out.get({at[0], at[1], at[2] + first, at[3]}), 2e-6);
    });
  }
}

TEST(AttentionLaw, RuleAndItsTableAgree) {
  const Sizes s{2, 2, 1, 77, 131, 16, 16};
  for (const char* text :
       {"causal", "causal(54)", "window(9)", "window(20,0)", "sparse(7)", "block(33)", "padding(40,131)",
        "global(3) | window(5)", "causal | prefix(30)", "~causal", "everything"}) {
    SCOPED_TRACE(text);
    Problem p = plain_problem(s);
    p.options.mask = parse_mask(text);
    const Results by_rule = run(p);
    std::vector<std::uint8_t> bits;
    each({s.B, s.H, s.N, s.M},
         [&](const Shape<4>& at) { bits.push_back(p.options.mask.allows(at[0], at[1], at[2], at[3]) ? 1 : 0); });
    p.options.mask = table(View<const std::uint8_t, 4>(bits.data(), {s.B, s.H, s.N, s.M}));
    const Results by_table = run(p);
    EXPECT_LE(distance(by_rule.out, by_table.out), 2e-6);
    EXPECT_LE(distance(by_rule.lse, by_table.lse), 2e-6);
  }
}

TEST(AttentionLaw, ReusedPlanGivesTheSameBits) {
  for (std::uint64_t seed = 10000; seed < 10040; ++seed) {
    Problem p = random_problem(seed);
    SCOPED_TRACE(p.text);
    const Results without = run(p);
    const TilePlan plan(p.options.mask, p.sizes.extent());
    p.options.plan = &plan;
    const Results with = run(p), again = run(p);
    EXPECT_TRUE(same_bits(without.out, with.out) && same_bits(without.lse, with.lse));
    EXPECT_TRUE(same_bits(with.out, again.out) && same_bits(with.lse, again.lse));
  }
}

TEST(AttentionLaw, EmptyLseIsNotWrittenAndChangesNothing) {
  const Problem p = plain_problem({2, 2, 1, 30, 70, 16, 16});
  const Results with = run(p);
  Results without(p.sizes);
  ThreadPool pool(1);
  attention(p.inputs(), p.options, without.out.floats(), {}, pool);
  EXPECT_TRUE(same_bits(with.out, without.out));
}

}  // namespace
}  // namespace attn::test
