// tests/engine/attention/decode_test.cc - few queries against many keys, and a cache that grows token by token.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "attn/kv_cache.h"
#include "tests/support/problem.h"
#include "tests/support/reference.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

class Decode : public testing::TestWithParam<std::int64_t> {};

Problem decode_problem(Random& random, std::int64_t n) {
  Sizes s;
  s.N = n;
  s.G = random.pick<std::int64_t>({1, 2});
  s.H = s.G * random.pick<std::int64_t>({1, 2, 4, 8});
  s.B = random.pick<std::int64_t>({1, 1, 2});
  s.M = random.pick<std::int64_t>({1, 15, 64, 65, 500, 1023, 1024, 1025, 2048, 3000, 5000});
  s.D = random.pick<std::int64_t>({8, 16, 20, 64});
  s.E = random.pick<std::int64_t>({8, 16, 33, 64});
  if (s.H * n * s.M > 100000) s.D = s.E = 16;
  Problem p = plain_problem(s, random.bits() >> 40, random.pick({Type::float32, Type::float16, Type::bfloat16}));
  const std::int64_t older = s.M - n;
  switch (random.below(6)) {
    case 0:
      break;
    case 1:
      p.options.mask = Causal{older};
      break;
    case 2:
      p.options.mask = Causal{older} & Window{random.below(200), 0};  // only some of the very first keys
      break;
    case 3:
      p.options.mask = Causal{older} & ~Mask(Causal{older - random.between(1, 700)});  // a sliding window over a cache
      break;
    case 4:
      p.options.mask = Padding{{random.between(0, s.M)}} & Causal{older};
      break;
    default:
      p.options.mask = (Causal{older} & ~Mask(Causal{older - 100})) | Prefix{4};
  }
  if (random.chance(0.3)) p.options.softcap = 5.0F;
  if (random.chance(0.3)) p.give_bias(random.bits() >> 40, true);
  if (random.chance(0.2)) p.give_dense_bias(random.bits() >> 40, {1, 1, n, s.M});
  if (random.chance(0.3)) p.give_sink(random.bits() >> 40);
  if (random.chance(0.2)) p.options.dropout = {0.2F, random.bits()};
  p.text = s.text() + " " + name_of(p.k.view().type) + " " + p.options.mask.text();
  return p;
}

TEST_P(Decode, AgreesWithTheTextbookOnEveryTarget) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  for (int round = 0; round < 12; ++round) {
    const Problem p = decode_problem(random, GetParam());
    SCOPED_TRACE(p.text);
    const Textbook book = textbook(p.inputs(), p.options);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      const Results r = run(p, 1 + round % 3);
      EXPECT_TRUE(out_agrees(book, r.out.floats()));
      EXPECT_TRUE(lse_agrees(book, r.lse_view()));
    });
  }
}
INSTANTIATE_TEST_SUITE_P(Queries, Decode, testing::Values(1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17));

TEST(DecodeLaw, OneQueryOfManyEqualsItselfAlone) {
  Problem p = plain_problem({1, 8, 2, 16, 3000, 64, 64});
  const Results all = run(p);
  for (std::int64_t i = 0; i < 16; ++i) {
    const Inputs in = p.inputs();
    const Results one = run({part(in.q, 2, i, 1), in.k, in.v}, {});
    each(one.out.shape(),
         [&](const Shape<4>& at) { ASSERT_NEAR(one.out.get(at), all.out.get({0, at[1], i, at[3]}), 1e-5); });
  }
}

class Cached : public testing::TestWithParam<Type> {};

// Appends token by token and computes each new query against the cache: equals the rows of one causal pass.
TEST_P(Cached, TokenByTokenEqualsOneCausalPass) {
  const Sizes s{2, 4, 2, 150, 150, 32, 24};
  Problem p = plain_problem(s, 5, GetParam());
  p.options.mask = Causal{};
  const Results whole = run(p);
  KvCache cache({.batch = s.B, .heads = s.G, .width = s.D, .value_width = s.E, .max_tokens = 1000, .type = GetParam()});
  ThreadPool pool(2);
  const Inputs in = p.inputs();
  for (std::int64_t i = 0; i < s.N; ++i) {
    cache.append(part(in.k, 2, i, 1), part(in.v, 2, i, 1));
    const Results one = run({part(in.q, 2, i, 1), cache.k(), cache.v()}, {});
    each(one.out.shape(),
         [&](const Shape<4>& at) { ASSERT_NEAR(one.out.get(at), whole.out.get({at[0], at[1], i, at[3]}), 1e-5) << i; });
  }
}

TEST_P(Cached, ChunksOfUnequalLengthEqualOneCausalPass) {
  const Sizes s{1, 4, 1, 200, 200, 64, 64};
  Problem p = plain_problem(s, 6, GetParam());
  p.options.mask = Causal{};
  const Results whole = run(p);
  KvCache cache({.batch = s.B, .heads = s.G, .width = s.D, .max_tokens = 400, .type = GetParam()});
  const Inputs in = p.inputs();
  std::int64_t first = 0;
  for (const std::int64_t n : {100, 1, 16, 3, 64, 13, 3}) {
    cache.append(part(in.k, 2, first, n), part(in.v, 2, first, n));
    Options options;
    options.mask = Causal{cache.size() - n};
    const Results chunk = run({part(in.q, 2, first, n), cache.k(), cache.v()}, options);
    each(chunk.out.shape(), [&](const Shape<4>& at) {
      ASSERT_NEAR(chunk.out.get(at), whole.out.get({at[0], at[1], first + at[2], at[3]}), 1e-5) << first;
    });
    first += n;
  }
  EXPECT_EQ(first, 200);
}
INSTANTIATE_TEST_SUITE_P(Types, Cached, testing::Values(Type::float32, Type::float16, Type::bfloat16),
                         [](const auto& test) { return name_of(test.param); });

TEST(CachedLaw, CacheOfFloatsRoundsToItsOwnType) {
  const Problem p = plain_problem({1, 2, 2, 1, 90, 16, 16});
  KvCache cache({.heads = 2, .width = 16, .max_tokens = 100, .type = Type::bfloat16});
  cache.append(p.k.view(), p.v.view());
  const Inputs rounded{p.q.view(), cache.k(), cache.v()};
  const Textbook book = textbook(rounded, {});
  EXPECT_TRUE(out_agrees(book, run(rounded, {}).out.floats()));
  EXPECT_EQ(cache.k().type, Type::bfloat16);
}

TEST(CachedLaw, EmptyCacheGivesZeros) {
  const Problem p = plain_problem({1, 2, 2, 3, 1, 16, 16});
  const KvCache cache({.heads = 2, .width = 16, .max_tokens = 100});
  const Results r = run({p.q.view(), cache.k(), cache.v()}, {});
  each(r.out.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.out.get(at), 0); });
}

}  // namespace
}  // namespace attn::test
