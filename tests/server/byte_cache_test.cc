#include "server/store/byte_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace attn::server {
namespace {

// Makes a value of 100 bytes, and counts how often.
struct Recorded {
  int times = 0;
  std::string operator()() {
    ++times;
    return std::string(100, 'x');
  }
};

TEST(ByteCache, ACachedValueIsNotMadeAgain) {
  ByteCache cache(1000);
  Recorded recorded;
  for (int n = 0; n < 3; ++n) EXPECT_EQ(*cache.get("a", std::ref(recorded)), std::string(100, 'x'));
  EXPECT_EQ(recorded.times, 1);
}

TEST(ByteCache, StaysWithinItsLimitAndEvictsTheLeastRecentlyUsed) {
  constexpr std::int64_t kThree = 3 * (ByteCache::kEntryBytes + 110);  // values with their keys
  ByteCache cache(kThree);
  Recorded recorded;
  for (const char* key : {"a", "b", "c"}) cache.get(key, std::ref(recorded));
  cache.get("a", std::ref(recorded));
  cache.get("d", std::ref(recorded));  // evicts b
  EXPECT_LE(cache.bytes(), kThree);
  recorded.times = 0;
  for (const char* key : {"a", "c", "d"}) cache.get(key, std::ref(recorded));
  EXPECT_EQ(recorded.times, 0);
  cache.get("b", std::ref(recorded));
  EXPECT_EQ(recorded.times, 1);
}

TEST(ByteCache, AValueLargerThanTheLimitIsReturnedButNotKept) {
  ByteCache cache(50);
  Recorded recorded;
  EXPECT_EQ(cache.get("a", std::ref(recorded))->size(), 100U);
  EXPECT_EQ(cache.bytes(), 0);
}

TEST(ByteCache, AFailureReachesTheCallerAndTheNextTriesAgain) {
  ByteCache cache(1000);
  const auto fail = []() -> std::string { throw std::runtime_error("no"); };
  EXPECT_THROW(cache.get("a", fail), std::runtime_error);
  Recorded recorded;
  EXPECT_EQ(cache.get("a", std::ref(recorded))->size(), 100U);
}

TEST(ByteCache, ConcurrentCallersOfOneKeyShareTheWork) {
  ByteCache cache(1'000'000);
  std::atomic<int> times = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        std::string key = std::to_string(n);
        const Bytes got = cache.get(key, [&] {
          ++times;
          return key;
        });
        EXPECT_EQ(*got, key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(times, 200);
}

TEST(ByteCache, ManyThreadsMayShareASmallCache) {
  constexpr std::int64_t kSmall = 5 * (ByteCache::kEntryBytes + 60);
  ByteCache cache(kSmall);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 500; ++n) {
        const std::string key = std::to_string(n * (t + 1) % 37);
        EXPECT_EQ(*cache.get(key, [&] { return key + std::string(50, '.'); }), key + std::string(50, '.'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.bytes(), kSmall);
}

}  // namespace
}  // namespace attn::server
