// apps/cli/output/progress.h - a progress line on standard error.
#pragma once

#include <chrono>
#include <string>

namespace attn::cli {

// Redrawn at most ten times per second, and only if standard error is a terminal. The destructor clears it.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether it is time to redraw; if not, there is no need to format the words.
  [[nodiscard]] bool due() const;
  void show(double share, const std::string& words);
  void clear();
  // Seconds since construction.
  [[nodiscard]] double seconds() const;

  // Shows `done` of `total` and the time left. Throws Interrupted after Ctrl-C.
  void count(std::int64_t done, std::int64_t total, const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace attn::cli
