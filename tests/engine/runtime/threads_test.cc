// tests/engine/runtime/threads_test.cc - the same bits for any number of threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "attn/attention.h"
#include "tests/support/problem.h"

namespace attn::test {
namespace {

void expect_same_bits_for_any_threads(const Problem& p, bool with_weights) {
  SCOPED_TRACE(p.text);
  const Results one = run(p, 1, with_weights);
  for (const int threads : {2, 3, 5}) {
    const Results many = run(p, threads, with_weights);
    EXPECT_TRUE(same_bits(one.out, many.out))
        << "out, " << threads << " threads, off by " << distance(one.out, many.out);
    EXPECT_TRUE(same_bits(one.lse, many.lse)) << "lse, " << threads << " threads";
    EXPECT_TRUE(same_bits(one.weights, many.weights)) << "weights, " << threads << " threads";
  }
}

TEST(SameBits, OfRandomProblems) {
  for (std::uint64_t seed = 30000; seed < 30100; ++seed) expect_same_bits_for_any_threads(random_problem(seed), false);
}

TEST(SameBits, OfRandomProblemsWithWeights) {
  for (std::uint64_t seed = 31000; seed < 31040; ++seed) expect_same_bits_for_any_threads(random_problem(seed), true);
}

TEST(SameBits, OfDecodeWithSplitKeys) {
  for (const std::int64_t n : {1, 2, 7, 16})
    for (const std::int64_t m : {63, 511, 1024, 4097, 20000}) {
      Problem p = plain_problem({1, 4, 2, n, m, 32, 32});
      expect_same_bits_for_any_threads(p, false);
      p.options.dropout = {0.3F, 99};
      p.options.mask = Causal{m - n} & Window{m / 2};
      expect_same_bits_for_any_threads(p, false);
    }
}

TEST(SameBits, OfDropoutAndLongCausalRows) {
  Problem p = plain_problem({2, 3, 1, 300, 300, 24, 40});
  p.options.mask = Causal{};
  p.options.dropout = {0.5F, 1};
  expect_same_bits_for_any_threads(p, false);
  expect_same_bits_for_any_threads(p, true);
}

TEST(SameBits, OfRectanglesOfWeights) {
  const Problem p = plain_problem({2, 3, 1, 100, 300, 24, 24});
  const Results r = run(p);
  const auto rebuilt = [&](int threads) {
    Tensor part({2, 3, 50, 201});
    ThreadPool pool(threads);
    weights(p.inputs(), p.options, r.lse_view(), {7, 33}, part.floats(), pool);
    return part;
  };
  const Tensor one = rebuilt(1);
  for (const int threads : {2, 3, 5}) EXPECT_TRUE(same_bits(one, rebuilt(threads)));
}

TEST(SameBits, OfPackedSequences) {
  const std::vector<std::int64_t> offsets{0, 5, 5, 130, 200, 201};
  Problem p = plain_problem({1, 4, 2, 201, 201, 32, 32});
  p.options.mask = Causal{};
  const auto packed = [&](int threads) {
    Results r(p.sizes);
    ThreadPool pool(threads);
    attention(p.inputs(), p.options, Packing{offsets, offsets}, r.out.floats(), r.lse_view(), pool);
    return r;
  };
  const Results one = packed(1);
  for (const int threads : {2, 3, 5}) {
    const Results many = packed(threads);
    EXPECT_TRUE(same_bits(one.out, many.out) && same_bits(one.lse, many.lse));
  }
}

TEST(SameBits, OfManyCallsOnOnePool) {
  Problem p = plain_problem({1, 4, 2, 40, 90, 32, 32});
  const Results first = run(p);
  ThreadPool pool(3);
  for (int n = 0; n < 300; ++n) {
    Results again(p.sizes);
    attention(p.inputs(), p.options, again.out.floats(), again.lse_view(), pool);
    ASSERT_TRUE(same_bits(first.out, again.out)) << n;
  }
}

TEST(SameBits, WhenSeveralThreadsShareOnePool) {
  const Problem p = plain_problem({1, 4, 2, 40, 90, 32, 32});
  const Results first = run(p);
  ThreadPool pool(2);
  int wrong[4] = {};
  std::vector<std::thread> callers;
  for (int& mine : wrong)
    callers.emplace_back([&p, &pool, &first, &mine] {
      for (int n = 0; n < 50; ++n) {
        Results again(p.sizes);
        attention(p.inputs(), p.options, again.out.floats(), again.lse_view(), pool);
        mine += same_bits(first.out, again.out) ? 0 : 1;
      }
    });
  for (std::thread& caller : callers) caller.join();
  for (const int n : wrong) EXPECT_EQ(n, 0);
}

}  // namespace
}  // namespace attn::test
