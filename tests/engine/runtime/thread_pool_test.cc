// The contract of the pool: every task runs once, no wait for sleeping helpers, no worker number used twice at once.
#include "attn/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/runtime/cpu_count.h"
#include "engine/runtime/cpu_wait.h"
#include "tests/support/sanitizers.h"

namespace attn {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often each task of a job ran. Plain integers: a task that runs twice at once is also a data race.
std::vector<int> runs_of(ThreadPool& pool, std::int64_t count) {
  std::vector<int> runs(static_cast<std::size_t>(count));
  pool.run(count, [&](std::int64_t t, int) { ++runs[static_cast<std::size_t>(t)]; });
  return runs;
}

void spend(microseconds time) {
  for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
  }
}

TEST(ThreadPool, EveryTaskRunsExactlyOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (std::int64_t count : {0, 1, 2, 3, 7, 64, 1000})
      EXPECT_THAT(runs_of(pool, count), testing::Each(1)) << threads << " threads, " << count << " tasks";
  }
}

TEST(ThreadPool, NegativeCountRunsNothing) {
  ThreadPool pool(2);
  pool.run(-3, [](std::int64_t, int) { FAIL(); });
}

TEST(ThreadPool, ManyShortJobsInARowLoseNoTask) {
  ThreadPool pool(4);
  std::int64_t done[4] = {};  // one per worker, not synchronised, like scratch memory
  for (int job = 0; job < 20000; ++job) pool.run(5, [&](std::int64_t, int worker) { ++done[worker]; });
  EXPECT_EQ(done[0] + done[1] + done[2] + done[3], 100000);
}

TEST(ThreadPool, JobsAfterLongAndShortPausesLoseNoTask) {
  ThreadPool pool(3);
  std::int64_t done[3] = {};
  for (int job = 0; job < 400; ++job) {
    spend(microseconds(job % 80));  // around the 50 microseconds at which helpers go to sleep
    if (job % 40 == 0) std::this_thread::sleep_for(milliseconds(2));
    pool.run(4, [&](std::int64_t, int worker) { ++done[worker]; });
  }
  EXPECT_EQ(done[0] + done[1] + done[2], 1600);
}

TEST(ThreadPool, WhatTasksWroteIsVisibleWhenRunReturns) {
  ThreadPool pool(4);
  std::vector<std::int64_t> values(257);
  for (std::int64_t job = 0; job < 500; ++job) {
    pool.run(257, [&](std::int64_t t, int) { values[static_cast<std::size_t>(t)] = t * job; });
    for (std::int64_t t = 0; t < 257; ++t) ASSERT_EQ(values[static_cast<std::size_t>(t)], t * job);
  }
}

TEST(ThreadPool, WorkerNumberIsInRangeAndNeverUsedTwiceAtOnce) {
  ThreadPool pool(4);
  std::atomic<int> inside[4] = {};
  std::atomic<bool> shared{false};
  pool.run(400, [&](std::int64_t, int worker) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, 4);
    if (inside[worker].fetch_add(1) != 0) shared = true;
    spend(microseconds(5));
    inside[worker].fetch_sub(1);
  });
  EXPECT_FALSE(shared);
}

TEST(ThreadPool, TasksAreHandedOutInRisingOrder) {
  ThreadPool pool(3);
  std::vector<std::vector<std::int64_t>> seen(3);
  pool.run(3000, [&](std::int64_t t, int worker) { seen[static_cast<std::size_t>(worker)].push_back(t); });
  for (const auto& mine : seen) EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
}

TEST(ThreadPool, HelperTakesPartWhenTasksTakeLong) {
  ThreadPool pool(2);
  std::atomic<int> here{0};
  // Each task waits for the other, so this ends only if two threads work at the same time.
  pool.run(2, [&](std::int64_t, int) {
    here.fetch_add(1);
    for (const auto end = steady_clock::now() + std::chrono::seconds(60); here < 2 && steady_clock::now() < end;)
      std::this_thread::yield();
  });
  EXPECT_EQ(here, 2);
}

TEST(ThreadPool, AllHelpersOfALargePoolWake) {
  constexpr int kThreads = 16;  // each thread wakes two others: the last ones are four steps away
  ThreadPool pool(kThreads);
  std::this_thread::sleep_for(milliseconds(20));
  std::atomic<int> here{0};
  pool.run(kThreads, [&](std::int64_t, int) {
    here.fetch_add(1);
    for (const auto end = steady_clock::now() + std::chrono::seconds(60); here < kThreads && steady_clock::now() < end;)
      std::this_thread::yield();
  });
  EXPECT_EQ(here, kThreads);
}

TEST(ThreadPool, HelpersWithNothingToDoSleep) {
  ThreadPool pool(4);
  runs_of(pool, 100);
  const auto cpu_seconds = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const auto before = cpu_seconds();
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(cpu_seconds() - before, 0.05) << "one spinning helper alone would have used 0.2 s";
}

TEST(ThreadPool, RunInsideATaskDoesItsTasksItself) {
  ThreadPool pool(3);
  std::vector<int> runs(8 * 10);
  pool.run(8, [&](std::int64_t outer, int) {
    const auto me = std::this_thread::get_id();
    std::int64_t last = -1;
    pool.run(10, [&](std::int64_t inner, int worker) {
      EXPECT_EQ(std::this_thread::get_id(), me);
      EXPECT_EQ(worker, 0);
      EXPECT_EQ(inner, last + 1);
      last = inner;
      ++runs[static_cast<std::size_t>(outer * 10 + inner)];
    });
  });
  EXPECT_THAT(runs, testing::Each(1));
}

TEST(ThreadPool, ManyThreadsMayCallRunAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int job = 0; job < 300; ++job)
        for (int n : runs_of(pool, 11)) wrong += n != 1;
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, TasksThatAreConstOrMoveOnlyCanBeRun) {
  ThreadPool pool(2);
  std::atomic<int> sum{0};
  const auto constant = [&](std::int64_t t, int) { sum += static_cast<int>(t); };
  pool.run(5, constant);
  pool.run(5, [&, owner = std::make_unique<int>(3)](std::int64_t, int) { sum += *owner; });
  EXPECT_EQ(sum, 25);
}

// With flush-to-zero set in the caller, half of the smallest normal number is 0 on every thread.
TEST(ThreadPool, ExceptionOfTheLowestTaskReachesTheCaller) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> ran{0};
      try {
        pool.run(1000, [&](std::int64_t t, int) {
          ran.fetch_add(1);
          if (t >= 7) throw std::runtime_error(std::to_string(t));
        });
        FAIL() << "no exception";
      } catch (const std::runtime_error& thrown) {
        EXPECT_STREQ(thrown.what(), "7");
      }
      EXPECT_GE(ran, 8);
      EXPECT_LE(ran, 8 + 2 * threads);  // no more are handed out
    }
    std::atomic<int> after{0};  // the pool is as good as new
    pool.run(100, [&](std::int64_t, int) { after.fetch_add(1); });
    EXPECT_EQ(after, 100);
  }
}

TEST(ThreadPool, LackOfMemoryInATaskReachesTheCaller) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run(64, [](std::int64_t, int) { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(ThreadPool, SystemWithoutThreadsGivesASmallerPool) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer needs memory of its own";
  const pid_t child = ::fork();  // a limit of memory that holds for this process alone
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t now = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)), stack = 64 << 20;
    const rlimit memory{now + 3 * stack, RLIM_INFINITY};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    if (pthread_setattr_default_np(&attributes) != 0 || ::setrlimit(RLIMIT_AS, &memory) != 0) ::_exit(2);
    ThreadPool pool(64);
    std::atomic<int> ran{0};
    pool.run(100, [&](std::int64_t, int) { ran.fetch_add(1); });
    ::_exit(pool.threads() < 64 && pool.threads() >= 1 && ran == 100 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ThreadPool, HelpersComputeInTheCallersRoundingMode) {
#if defined(__x86_64__)
  ThreadPool pool(2);
  const auto before = float_mode();
  set_float_mode(before | 0x8000);
  std::atomic<int> here{0};
  float halves[2] = {-1, -1};
  volatile float tiny = std::numeric_limits<float>::min();
  pool.run(2, [&](std::int64_t, int worker) {
    here.fetch_add(1);
    for (const auto end = steady_clock::now() + std::chrono::seconds(60); here < 2 && steady_clock::now() < end;)
      std::this_thread::yield();
    halves[worker] = tiny * 0.5f;
  });
  set_float_mode(before);
  EXPECT_EQ(halves[0], 0);
  EXPECT_EQ(halves[1], 0);
  EXPECT_GT(tiny * 0.5f, 0);
#else
  GTEST_SKIP() << "the mode's bits are those of x86";
#endif
}

TEST(ThreadPool, HelpersLeaveSignalsToTheProgramsThreads) {
  ThreadPool pool(2);
  std::atomic<int> here{0};
  bool interrupts[2] = {};
  pool.run(2, [&](std::int64_t, int worker) {
    here.fetch_add(1);
    for (const auto end = steady_clock::now() + std::chrono::seconds(60); here < 2 && steady_clock::now() < end;)
      std::this_thread::yield();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    interrupts[worker] = sigismember(&mask, SIGINT) == 0;
  });
  EXPECT_TRUE(interrupts[0]);
  EXPECT_FALSE(interrupts[1]);
}

// The child exits by itself after some seconds, so that a hang is a failure and not a test that never returns.
template <typename F>
int exit_code_of_child(const F& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(ThreadPool, ChildProcessRunsItsTasksWithoutHelpers) {
  auto pool = std::make_unique<ThreadPool>(3);
  for (bool asleep : {false, true}) {
    runs_of(*pool, 50);
    if (asleep) std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(exit_code_of_child([&] {
                const auto runs = runs_of(*pool, 50);
                const bool good = std::all_of(runs.begin(), runs.end(), [](int n) { return n == 1; });
                pool.reset();
                return good;
              }),
              0);
  }
  EXPECT_THAT(runs_of(*pool, 50), testing::Each(1)) << "the parent's pool goes on";
}

TEST(ThreadPool, ChildForkedInTheMiddleOfAJobCanStillRun) {
  ThreadPool pool(3);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) pool.run(4, [](std::int64_t, int) { spend(microseconds(20)); });
  });
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(exit_code_of_child([&] {
                const auto runs = runs_of(pool, 9);
                return std::all_of(runs.begin(), runs.end(), [](int n) { return n == 1; });
              }),
              0);
  stop = true;
  other.join();
}

TEST(ThreadPool, CanBeMadeAndDestroyedManyTimes) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(1 + i % 4);
    if (i % 3 != 0) {
      EXPECT_THAT(runs_of(pool, 9), testing::Each(1));
    }
    if (i % 10 == 0) std::this_thread::sleep_for(milliseconds(1));
  }
}

TEST(ThreadPool, NumberOfThreadsIsChecked) {
  EXPECT_EQ(ThreadPool(1).threads(), 1);
  EXPECT_EQ(ThreadPool(5).threads(), 5);
  EXPECT_EQ(ThreadPool(0).threads(), ThreadPool::default_threads());
  EXPECT_THROW(ThreadPool(-1), std::invalid_argument);
  EXPECT_THROW(ThreadPool(1025), std::invalid_argument);
  try {
    ThreadPool pool(-7);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("-7 threads"));
  }
}

// Sets or unsets ATTNSCOPE_THREADS and restores it afterwards.
class Environment : public testing::Test {
 protected:
  static constexpr const char* kName = "ATTNSCOPE_THREADS";
  Environment() {
    if (const char* old = std::getenv(kName)) before_ = old;
  }
  ~Environment() override { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }
  static int threads_with(const char* value) {
    value == nullptr ? unsetenv(kName) : setenv(kName, value, 1);
    return ThreadPool::default_threads();
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(Environment, VariableSetsTheDefaultNumberOfThreads) {
  EXPECT_EQ(threads_with("1"), 1);
  EXPECT_EQ(threads_with("7"), 7);
  EXPECT_EQ(threads_with("1024"), 1024);
}

TEST_F(Environment, InvalidVariableIsIgnored) {
  const int cores = threads_with(nullptr);
  EXPECT_GE(cores, 1);
  for (const char* bad : {"", "0", "-2", "1025", "4x", "two", " 3", "99999999999999999999"})
    EXPECT_EQ(threads_with(bad), cores) << '"' << bad << '"';
}

TEST_F(Environment, AffinityLimitsTheDefaultNumberOfThreads) {
  unsetenv(kName);
  // In a separate thread, so that the affinity ends with it.
  std::thread([] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(ThreadPool::default_threads(), 1);
  }).join();
}

// A tree of control group files in a temporary directory.
class Cgroup : public testing::Test {
 protected:
  Cgroup() { std::filesystem::create_directories(root_); }
  ~Cgroup() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    const auto path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] int quota(const std::string& membership) const { return cgroup_quota(root_.string(), membership); }

 private:
  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() /
      ("attn_cgroup_" + std::to_string(getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Cgroup, NoFilesMeanNoQuota) {
  EXPECT_EQ(quota(""), kNoQuota);
  EXPECT_EQ(quota("0::/a/b\n"), kNoQuota);
}

TEST_F(Cgroup, VersionTwoQuotaIsRoundedUp) {
  write("cpu.max", "150000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 2);
  write("cpu.max", "10000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 1);
  write("cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/\n"), kNoQuota);
}

TEST_F(Cgroup, SmallestQuotaOnTheWayUpCounts) {
  write("a/cpu.max", "300000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  write("a/b/c/cpu.max", "800000 100000\n");
  write("x/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota("0::/a/b/c\n"), 3);
  EXPECT_EQ(quota("0::/../a/b/none\n"), kNoQuota) << "a path outside of what is mounted";
}

TEST_F(Cgroup, VersionOneQuotaIsFoundUnderItsController) {
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write("cpuset/job/cpu.cfs_quota_us", "100000\n");
  write("cpuset/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("3:cpuset:/job\n4:cpu,cpuacct:/job\n"), 4);
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota("3:cpuset:/job\n4:cpu,cpuacct:/job\n"), kNoQuota);
}

}  // namespace
}  // namespace attn
