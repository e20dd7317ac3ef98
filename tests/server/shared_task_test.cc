#include "server/jobs/shared_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace attn::server {
namespace {

using base::Progress;

// Work of a hundred steps, with a count of the steps done.
struct Steps {
  std::atomic<int> begun = 0, done = 0;

  void operator()(const Progress& progress) {
    ++begun;
    for (int n = 0; n < 100; ++n) {
      progress(n, 100);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++done;
    }
  }
};

struct Left : std::runtime_error {
  Left() : std::runtime_error("left") {}
};

TEST(SharedTask, RunsOnceForAllCallers) {
  SharedTask task;
  Steps steps;
  std::vector<std::thread> threads;
  std::atomic<int> ended = 0, reports = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      task.join([&](std::int64_t, std::int64_t) { ++reports; }, std::ref(steps));
      ++ended;
    });
  }
  for (std::thread& thread : threads) thread.join();
  task.join({}, std::ref(steps));
  EXPECT_EQ(steps.begun, 1);
  EXPECT_EQ(steps.done, 100);
  EXPECT_EQ(ended, 6);
  EXPECT_GT(reports, 100);
}

TEST(SharedTask, EndsWhenTheOnlyCallerLeavesAndCanStartAgain) {
  SharedTask task;
  Steps steps;
  const auto leave = [](std::int64_t done, std::int64_t) {
    if (done == 10) throw Left();
  };
  EXPECT_THROW(task.join(leave, std::ref(steps)), Left);
  EXPECT_EQ(steps.done, 10);
  EXPECT_FALSE(task.done());
  task.join({}, std::ref(steps));
  EXPECT_EQ(steps.begun, 2);
  EXPECT_EQ(steps.done, 110);
}

TEST(SharedTask, ContinuesForTheOthersWhenTheWorkingCallerLeaves) {
  SharedTask task;
  Steps steps;
  std::atomic<bool> waiting = false, left = false;
  std::thread first([&] {
    const auto leave = [&](std::int64_t, std::int64_t) {
      if (waiting) throw Left();
    };
    try {
      task.join(leave, std::ref(steps));
    } catch (const Left&) {
      left = true;
    }
  });
  while (steps.begun == 0) std::this_thread::yield();
  task.join([&](std::int64_t, std::int64_t) { waiting = true; }, std::ref(steps));
  first.join();
  EXPECT_TRUE(left);
  EXPECT_EQ(steps.begun, 1);
  EXPECT_EQ(steps.done, 100);
}

TEST(SharedTask, AnExceptionReachesAllCallers) {
  SharedTask task;
  std::atomic<int> failed = 0, waiting = 0;
  const auto fail = [&](const Progress& progress) {
    while (waiting < 3) progress(0, 1);
    throw std::invalid_argument("no");
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      bool counted = false;
      const auto count = [&](std::int64_t, std::int64_t) {
        if (!std::exchange(counted, true)) ++waiting;
      };
      try {
        task.join(count, fail);
      } catch (const std::invalid_argument&) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 4);
}

}  // namespace
}  // namespace attn::server
