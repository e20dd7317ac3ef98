#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "tests/mpi/mpi_world.h"

namespace attn::test {
namespace {

TEST(MpiRanks, GatherReturnsAllMessagesOnEveryRank) {
  const std::string mine(static_cast<std::size_t>(world().rank()) * 1000, static_cast<char>('a' + world().rank()));
  const std::vector<std::string> all = world().gather(mine);
  ASSERT_EQ(std::ssize(all), world().size());
  for (int rank = 0; rank < world().size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(rank)],
              std::string(static_cast<std::size_t>(rank) * 1000, static_cast<char>('a' + rank)));
  }
}

TEST(MpiRanks, MessagesOfOneTagArriveInOrder) {
  const int next = (world().rank() + 1) % world().size(),
            before = (world().rank() + world().size() - 1) % world().size();
  std::vector<std::vector<int>> sent(5), got(5);
  const std::unique_ptr<Transfers> under_way = world().transfers();
  for (int n = 0; n < 5; ++n) {
    // From small messages to far beyond MPI's eager limit.
    sent[static_cast<std::size_t>(n)].assign(static_cast<std::size_t>(1) << (5 * n), 100 * world().rank() + n);
    got[static_cast<std::size_t>(n)].resize(static_cast<std::size_t>(1) << (5 * n));
  }
  for (auto& numbers : got) under_way->receive(std::as_writable_bytes(std::span(numbers)), before, 7);
  for (auto& numbers : sent) under_way->send(std::as_bytes(std::span(numbers)), next, 7);
  under_way->advance();
  under_way->wait();
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(got[static_cast<std::size_t>(n)].front(), 100 * before + n);
    EXPECT_EQ(got[static_cast<std::size_t>(n)].back(), 100 * before + n);
  }
}

TEST(MpiRanks, SumsAreInRankOrderOnEveryRank) {
  // Numbers whose sum depends on the order.
  const auto number = [](int rank, std::size_t n) { return std::ldexp(1.0F, (rank * 13 + static_cast<int>(n)) % 40); };
  std::vector<float> numbers(1000), right(1000);
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    numbers[n] = number(world().rank(), n);
    for (int rank = 0; rank < world().size(); ++rank) right[n] += number(rank, n);
  }
  sum(world(), std::span(numbers));
  EXPECT_EQ(numbers, right);
  std::vector<double> few = {1.0 + world().rank()};
  sum(world(), std::span(few));
  EXPECT_EQ(few[0], world().size() * (world().size() + 1) / 2);
}

TEST(MpiRanks, TheCounterGivesEachNumberOnce) {
  world().start_counter(40);
  std::string mine;
  for (int n = 0; n < 25; ++n) mine += static_cast<char>(world().next());
  std::multiset<char> all;
  for (const std::string& theirs : world().gather(mine)) all.insert(theirs.begin(), theirs.end());
  std::multiset<char> right;
  for (int n = 0; n < 25 * world().size(); ++n) right.insert(static_cast<char>(40 + n));
  EXPECT_EQ(all, right);
}

TEST(MpiRanks, LettersOfAnyLengthAreFoundInOrder) {
  for (int n = 0; n < 4; ++n)
    world().post(std::string(static_cast<std::size_t>(1) << (6 * n), static_cast<char>('0' + n)), 0);
  std::vector<int> next(static_cast<std::size_t>(world().size()), 0);
  for (int found = 0; world().rank() == 0 && found < 4 * world().size();) {
    const std::optional<Letter> letter = world().poll();
    if (!letter) {
      std::this_thread::yield();
      continue;
    }
    const int n = next[static_cast<std::size_t>(letter->from)]++;
    EXPECT_EQ(letter->bytes, std::string(static_cast<std::size_t>(1) << (6 * n), static_cast<char>('0' + n)));
    ++found;
  }
  world().flush();
}

TEST(MpiRanks, FailureOnOneRankIsKnownToAll) {
  const int last = world().size() - 1;
  try {
    together(world(), [&] {
      if (world().rank() == last) throw std::runtime_error("no such file");
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& problem) {
    EXPECT_EQ(problem.what(), last == 0 ? "no such file" : "rank " + std::to_string(last) + ": no such file");
  }
  EXPECT_NO_THROW(together(world(), [] {}));
}

}  // namespace
}  // namespace attn::test
