// course/compute/timing.h - how long ways to attend take on this machine. Each is measured once while the program runs:
// a reader who moves a slider does not wait for it again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "course/lesson_output.h"

namespace attn::course {

enum class Way : std::uint8_t {
  naive,   // scores, softmax, values: each step goes through a whole table [n, n] in memory
  fused,   // attn::attention
  linear,  // attn::linear_attention
  rnn,     // h = tanh(W h + U x), a token after the other
};

struct TimedProblem {
  std::int64_t batch = 1, n = 0, d = 64;
};

struct Timing {
  double first = 0;       // the first run, which is not counted
  double seconds = 0;     // the mean of the others
  double best = 0;        // the shortest of them: others on the machine only make runs longer
  std::int64_t runs = 0;  // that were measured
};

// At most `runs`, and no new one after `patience` seconds.
struct TimingLimits {
  std::int64_t runs = 100;
  double patience = 0.5;
};
Timing run_timing(Way way, const TimedProblem& problem, const TimingLimits& limits, ThreadPool& pool);

// Adds measured `name` [ways, lengths], in seconds, and a figure of that name: time against n.
struct Course {
  std::span<const Way> ways;
  std::vector<double> lengths;
  std::int64_t d = 64;
};
void add_timings(LessonOutput& output, const std::string& name, const Course& course, ThreadPool& pool);

}  // namespace attn::course
