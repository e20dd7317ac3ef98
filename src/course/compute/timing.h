// course/compute/timing.h - measures how long ways to compute attention take on this machine. Each is measured once per
// process, so that moving a slider does not measure again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "course/lesson_output.h"

namespace attn::course {

enum class Way : std::uint8_t {
  naive,   // scores, softmax, values: each step passes over a table [n, n] in memory
  fused,   // attn::attention
  linear,  // attn::linear_attention
  rnn,     // h = tanh(W h + U x), token by token
};

struct TimedProblem {
  std::int64_t batch = 1, n = 0, d = 64;
};

struct Timing {
  double first = 0;       // the first run, which is not counted
  double seconds = 0;     // the mean of the others
  double best = 0;        // the shortest of them: other load on the machine only makes runs longer
  std::int64_t runs = 0;  // number of measured runs
};

// Makes no more after `runs` runs, or `patience` seconds.
struct TimingLimits {
  std::int64_t runs = 100;
  double patience = 0.5;
};
Timing run_timing(Way way, const TimedProblem& problem, const TimingLimits& limits, ThreadPool& pool);

// Adds the measured array `name` [ways, lengths], in seconds, and a figure of that name: time against n.
struct Course {
  std::span<const Way> ways;
  std::vector<double> lengths;
  std::int64_t d = 64;
};
void add_timings(LessonOutput& output, const std::string& name, const Course& course, ThreadPool& pool);

}  // namespace attn::course
