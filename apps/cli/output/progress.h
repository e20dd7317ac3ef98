// apps/cli/output/progress.h - one line on standard error that says how far the work is.
#pragma once

#include <chrono>
#include <string>

namespace attn::cli {

// Drawn again at most ten times a second; nothing where standard error is not a terminal. Cleared at the end.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether it is time to draw: words need not be made before.
  [[nodiscard]] bool due() const;
  void show(double share, const std::string& words);
  void clear();
  // Since it was made.
  [[nodiscard]] double seconds() const;

  // `done` of `total`, with the time left; also gives up after Ctrl-C, by throwing Interrupted.
  void count(std::int64_t done, std::int64_t total, const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace attn::cli
