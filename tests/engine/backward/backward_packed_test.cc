// tests/engine/backward/backward_packed_test.cc - gradients of packed sequences of different lengths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "attn/backward.h"
#include "tests/engine/backward/backward_support.h"
#include "tests/support/problem.h"
#include "tests/support/random.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

using Offsets = std::vector<std::int64_t>;

struct Lengths {
  Offsets queries{0}, keys{0};
  std::int64_t longest_query = 0, longest_key = 0;

  void add(std::int64_t n, std::int64_t m) {
    queries.push_back(queries.back() + n);
    keys.push_back(keys.back() + m);
    longest_query = std::max(longest_query, n);
    longest_key = std::max(longest_key, m);
  }
  [[nodiscard]] Packing packing() const { return {queries, keys}; }
};

Lengths random_lengths(Random& random) {
  const auto length = [&] {
    return random.chance(0.15) ? 0 : random.chance(0.5) ? random.between(1, 30) : random.between(60, 150);
  };
  const bool cross = random.chance(0.5);
  Lengths lengths;
  for (std::int64_t s = random.between(1, 5); s > 0; --s) {
    const std::int64_t n = length();
    lengths.add(n, cross ? length() : n);
  }
  return lengths;
}

Problem random_packed(Random& random, const Lengths& lengths, std::uint64_t seed) {
  Problem p = plain_problem({1, 4, 2, lengths.queries.back(), lengths.keys.back(), 24, 16}, 100 * seed);
  const std::int64_t width = lengths.longest_query + lengths.longest_key - 1;
  if (random.chance(0.5) && width > 0) {
    const auto rows = random.pick<std::int64_t>({1, 4});
    p.bias.resize(static_cast<std::size_t>(rows * width));
    for (std::size_t n = 0; n < p.bias.size(); ++n) p.bias[n] = bell(seed, n);
    p.options.bias = {p.bias.data(), {rows, width}};
  }
  if (random.chance(0.4)) p.give_sink(seed);
  if (random.chance(0.3)) p.options.softcap = 3.0F;
  if (random.chance(0.3)) p.options.dropout = {0.3F, seed};
  if (random.chance(0.5)) p.options.mask = Causal{random.between(-3, 10)};
  if (random.chance(0.3)) {  // one length per sequence: the mask treats sequence s as batch s
    Offsets some;
    for (std::size_t s = 1; s < lengths.keys.size(); ++s) some.push_back(random.below(100));
    p.options.mask = p.options.mask & Padding{some};
  }
  return p;
}

TEST(BackwardPacked, EveryOptionAgreesWithTheTextbook) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Lengths lengths = random_lengths(random);
    const Problem p = random_packed(random, lengths, seed);
    const Tensor d_out = random_d_out(p);
    const TextbookGradients book = textbook_gradients(p, lengths.packing(), d_out);
    on_every_target([&](const char* target) {
      SCOPED_TRACE(target);
      EXPECT_TRUE(agree(book, differentiate(p, lengths.packing(), d_out, 2)));
    });
  }
}

TEST(BackwardPacked, AnyNumberOfThreadsGivesTheSameBits) {
  Lengths lengths;
  for (const std::int64_t n : {700, 1, 0, 1700, 33}) lengths.add(n, n);
  Problem p = plain_problem({1, 2, 1, lengths.queries.back(), lengths.keys.back(), 24, 16});
  p.options.mask = Causal{};
  const Tensor d_out = random_d_out(p);
  const GradientTensors one = differentiate(p, lengths.packing(), d_out, 1);
  for (const int threads : {2, 3, 5})
    EXPECT_TRUE(one.same_bits(differentiate(p, lengths.packing(), d_out, threads))) << threads;
}

TEST(BackwardPacked, KeysOfASequenceWithoutQueriesGetZero) {
  Lengths lengths;
  lengths.add(5, 7);
  lengths.add(0, 20);
  lengths.add(3, 0);
  const Problem p = plain_problem({1, 2, 2, 8, 27, 8, 8});
  const GradientTensors g = differentiate(p, lengths.packing(), random_d_out(p));
  for (std::int64_t j = 7; j < 27; ++j) EXPECT_EQ(g.dk.get({0, 1, j, 3}) + g.dv.get({0, 1, j, 3}), 0);
  for (std::int64_t i = 5; i < 8; ++i) EXPECT_EQ(g.dq.get({0, 1, i, 3}), 0);
}

TEST(BackwardPacked, OffsetsThatDoNotFitAreRefusedBeforeAnythingIsWritten) {
  const Problem p = plain_problem({1, 2, 2, 8, 27, 8, 8});
  const Results r(p.sizes);
  const Tensor d_out = random_d_out(p);
  GradientTensors g(p);
  ThreadPool pool(1);
  const Offsets queries{0, 0, 8}, good{0, 7, 27}, bad{0, 7, 26};
  EXPECT_THROW(attention_backward(p.inputs(), p.options, Packing{queries, bad},
                                  {r.out.floats(), r.lse_view(), d_out.floats()}, g.to(), pool),
               std::invalid_argument);
  EXPECT_TRUE(g.untouched());
  EXPECT_NO_THROW(differentiate(p, Packing{queries, good}, d_out));
}

}  // namespace
}  // namespace attn::test
