#include "attn/ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include "tests/support/thread_ranks.h"

namespace attn::test {
namespace {

TEST(RanksAlone, AreASingleRank) {
  const std::unique_ptr<Ranks> ranks = alone();
  EXPECT_EQ(ranks->rank(), 0);
  EXPECT_EQ(ranks->size(), 1);
  EXPECT_EQ(ranks->gather("a"), std::vector<std::string>{"a"});
  ranks->start_counter(5);
  EXPECT_EQ(ranks->next(), 5);
  EXPECT_EQ(ranks->next(), 6);
  EXPECT_FALSE(ranks->poll());
  ranks->post("first", 0);
  ranks->post("second", 0);
  EXPECT_EQ(ranks->poll().value_or(Letter{}).bytes, "first");
  EXPECT_EQ(ranks->poll().value_or(Letter{}).bytes, "second");
  std::vector<float> numbers = {1, 2};
  sum(*ranks, std::span(numbers));
  EXPECT_EQ(numbers, (std::vector<float>{1, 2}));
  EXPECT_THROW(together(*ranks, [] { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST(RanksTogether, SumInRankOrder) {
  for (int count = 1; count <= 5; ++count) {
    for (const std::size_t length : {0, 1, 3, 1000}) {
      const auto number = [](int rank, std::size_t n) {
        return std::ldexp(1.0F, (rank * 13 + static_cast<int>(n)) % 40);
      };
      std::vector<float> right(length);
      for (int rank = 0; rank < count; ++rank)
        for (std::size_t n = 0; n < length; ++n) right[n] += number(rank, n);
      on_ranks(count, [&](Ranks& ranks) {
        std::vector<float> numbers(length);
        for (std::size_t n = 0; n < length; ++n) numbers[n] = number(ranks.rank(), n);
        sum(ranks, std::span(numbers));
        EXPECT_EQ(numbers, right) << count << " ranks, " << length << " numbers";
      });
    }
  }
}

TEST(RanksTogether, ReportTheFailureOfTheLowestRank) {
  std::mutex mutex;
  std::multiset<std::string> said;
  on_ranks(4, [&](Ranks& ranks) {
    try {
      together(ranks, [&] {
        if (ranks.rank() >= 2) throw std::runtime_error("no file " + std::to_string(ranks.rank()));
      });
    } catch (const std::runtime_error& problem) {
      const std::scoped_lock lock(mutex);
      said.insert(problem.what());
    }
  });
  EXPECT_EQ(said.size(), 4U);
  EXPECT_EQ(said.count("rank 2: no file 2"), 4U);
}

TEST(RanksTogether, KeepTheExitCodeOfAFailure) {
  on_ranks(3, [](Ranks& ranks) {
    std::optional<Failure> mine;
    if (ranks.rank() == 1) mine = Failure{"wrong", 2, 1};
    const std::optional<Failure> first = first_failure(ranks, mine);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->code, 2);
    EXPECT_EQ(first->rank, 1);
    EXPECT_EQ(in_words(*first), "rank 1: wrong");
    EXPECT_FALSE(first_failure(ranks, std::nullopt));
  });
}

}  // namespace
}  // namespace attn::test
