// tests/engine/attention/packed_test.cc - packed sequences of different lengths, against each of them alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "tests/support/problem.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

using Offsets = std::vector<std::int64_t>;

Offsets offsets_of(const Offsets& lengths) {
  Offsets offsets{0};
  for (const std::int64_t n : lengths) offsets.push_back(offsets.back() + n);
  return offsets;
}

Results run_packed(const Problem& p, const Offsets& queries, const Offsets& keys) {
  Results r(p.sizes);
  ThreadPool pool(2);
  attention(p.inputs(), p.options, Packing{queries, keys}, r.out.floats(), r.lse_view(), pool);
  return r;
}

Offsets random_sequence_lengths(Random& random, std::int64_t sequences) {
  Offsets lengths(static_cast<std::size_t>(sequences));
  for (auto& n : lengths)
    n = random.chance(0.15)  ? 0
        : random.chance(0.5) ? random.between(1, 30)
                             : random.pick<std::int64_t>({1, 12, 64, 65, 128, 150});
  return lengths;
}

TEST(Packed, EachSequenceEqualsItselfAlone) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::int64_t sequences = random.between(1, 6);
    const Offsets queries = offsets_of(random_sequence_lengths(random, sequences));
    const Offsets keys = random.chance(0.5) ? queries : offsets_of(random_sequence_lengths(random, sequences));
    Problem p = plain_problem({1, 4, 2, queries.back(), keys.back(), 24, 16}, 100 * seed);
    p.options.mask = parse_mask(random.pick<const char*>(
        {"everything", "causal", "window(7)", "causal & window(20)", "block(16)", "~causal(3)"}));
    const Results packed = run_packed(p, queries, keys);
    for (std::int64_t s = 0; s < sequences; ++s) {
      const std::int64_t n = queries[s + 1] - queries[s], m = keys[s + 1] - keys[s];
      const Inputs in = p.inputs();
      const Results alone =
          run({part(in.q, 2, queries[s], n), part(in.k, 2, keys[s], m), part(in.v, 2, keys[s], m)}, p.options);
      each(alone.out.shape(), [&](const Shape<4>& at) {
        ASSERT_NEAR(alone.out.get(at), packed.out.get({0, at[1], at[2] + queries[s], at[3]}), 2e-6) << "sequence " << s;
      });
      each(alone.lse.shape(), [&](const Shape<4>& at) {
        const float a = alone.lse.get(at), b = packed.lse.get({0, 0, at[2], at[3] + queries[s]});
        ASSERT_TRUE(a == b || std::abs(a - b) <= 2e-6 * (1 + std::abs(a))) << a << " " << b;
      });
    }
  }
}

TEST(Packed, EveryOptionAgreesWithTheTextbook) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(1000 + seed);
    const std::int64_t sequences = random.between(1, 5);
    const Offsets lengths = random_sequence_lengths(random, sequences),
                  other = random_sequence_lengths(random, sequences);
    const bool cross = random.chance(0.5);
    const Offsets queries = offsets_of(lengths), keys = cross ? offsets_of(other) : queries;
    Problem p = plain_problem({1, 4, 2, queries.back(), keys.back(), 24, 16}, 100 * seed,
                              random.pick({Type::float32, Type::float16, Type::bfloat16}));
    const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    const std::int64_t longest_key = cross ? *std::max_element(other.begin(), other.end()) : longest;
    if (random.chance(0.4) && longest + longest_key > 0) {
      const std::int64_t width = longest + longest_key - 1, rows = random.pick<std::int64_t>({1, 4});
      p.bias.resize(static_cast<std::size_t>(rows * width));
      for (std::size_t n = 0; n < p.bias.size(); ++n) p.bias[n] = bell(seed, n);
      p.options.bias = {p.bias.data(), {rows, width}};
    }
    if (random.chance(0.4)) p.give_sink(seed);
    if (random.chance(0.3)) p.options.softcap = 3.0F;
    if (random.chance(0.3)) p.options.scale = 0.5F;
    if (random.chance(0.3)) p.options.dropout = {0.3F, seed};
    if (random.chance(0.3)) p.options.mask = Causal{random.between(-3, 10)};
    // One length per sequence: the mask treats sequence s as batch s.
    if (random.chance(0.3)) p.options.mask = p.options.mask & Padding{other};
    const Textbook book = textbook(p.inputs(), p.options, Packing{queries, keys});
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      const Results r = run_packed(p, queries, keys);
      EXPECT_TRUE(out_agrees(book, r.out.floats()));
      EXPECT_TRUE(lse_agrees(book, r.lse_view()));
    });
  }
}

TEST(Packed, ManyShortSequencesAgreeWithTheDocumentMask) {
  Random random(5);
  Offsets lengths(60);
  std::vector<std::int64_t> ids;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    lengths[s] = random.between(1, 9);
    ids.insert(ids.end(), static_cast<std::size_t>(lengths[s]), static_cast<std::int64_t>(s));
  }
  const Offsets offsets = offsets_of(lengths);
  Problem p = plain_problem({1, 2, 2, offsets.back(), offsets.back(), 16, 16});
  const Results packed = run_packed(p, offsets, offsets);
  p.options.mask = Document{ids};
  const Results masked = run(p);
  EXPECT_LE(distance(packed.out, masked.out), 2e-6);
  EXPECT_LE(distance(packed.lse, masked.lse), 2e-6);
}

TEST(Packed, NoSequencesGiveAnEmptyResult) {
  const Problem p = plain_problem({1, 2, 2, 0, 0, 8, 8});
  EXPECT_NO_THROW(run_packed(p, {0}, {0}));
  EXPECT_NO_THROW(run_packed(p, {0, 0, 0}, {0, 0, 0}));
}

std::string packing_refusal(const Problem& p, const Offsets& queries, const Offsets& keys) {
  Results r(p.sizes);
  ThreadPool pool(1);
  std::string message;
  EXPECT_THROW(
      try {
        attention(p.inputs(), p.options, Packing{queries, keys}, r.out.floats(), r.lse_view(), pool);
      } catch (const std::invalid_argument& error) {
        message = error.what();
        throw;
      },
      std::invalid_argument);
  EXPECT_TRUE(r.untouched());
  return message;
}

TEST(Packed, OffsetsMustRiseFromZeroToTheEnd) {
  const Problem p = plain_problem({1, 2, 2, 20, 30, 8, 8});
  const Offsets good_queries{0, 5, 20}, good_keys{0, 10, 30};
  EXPECT_NO_THROW(run_packed(p, good_queries, good_keys));
  EXPECT_THAT(packing_refusal(p, {0, 5, 19}, good_keys),
              testing::AllOf(testing::HasSubstr("19"), testing::HasSubstr("20")));
  EXPECT_THAT(packing_refusal(p, good_queries, {0, 10, 31}),
              testing::AllOf(testing::HasSubstr("31"), testing::HasSubstr("30")));
  EXPECT_THAT(packing_refusal(p, {1, 5, 20}, good_keys), testing::HasSubstr("1"));
  EXPECT_THAT(packing_refusal(p, {0, 25, 20}, good_keys), testing::HasSubstr("25"));
  EXPECT_THAT(packing_refusal(p, {0, -5, 20}, good_keys), testing::HasSubstr("-5"));
  EXPECT_THAT(packing_refusal(p, {0, 5, 9, 20}, good_keys),
              testing::AllOf(testing::HasSubstr("4"), testing::HasSubstr("3")));
  EXPECT_NE(packing_refusal(p, {}, {}), "");
}

TEST(Packed, PlanDenseBiasAndBatchesAreRefused) {
  Problem p = plain_problem({1, 2, 2, 20, 20, 8, 8});
  const Offsets offsets{0, 5, 20};
  const TilePlan plan(Mask{}, {2, 2, 15, 15});
  p.options.plan = &plan;
  EXPECT_THAT(packing_refusal(p, offsets, offsets), testing::HasSubstr("plan"));
  p.options.plan = nullptr;
  p.give_dense_bias(3, {1, 1, 20, 20});
  EXPECT_THAT(packing_refusal(p, offsets, offsets), testing::HasSubstr("dense"));
  const Problem two = plain_problem({2, 2, 2, 20, 20, 8, 8});
  EXPECT_THAT(packing_refusal(two, offsets, offsets), testing::HasSubstr("2"));
  Problem biased = plain_problem({1, 2, 2, 20, 20, 8, 8});
  biased.give_bias(3, true);  // 39 wide; the longest sequence has 15
  EXPECT_THAT(packing_refusal(biased, offsets, offsets),
              testing::AllOf(testing::HasSubstr("39"), testing::HasSubstr("29")));
}

}  // namespace
}  // namespace attn::test
