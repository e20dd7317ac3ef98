#include "apps/cli/output/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "apps/cli/command.h"
#include "apps/cli/output/terminal.h"

namespace attn::cli {

namespace {

int columns_of_stderr() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool ProgressLine::due() const {
  static const bool visible = isatty(STDERR_FILENO) != 0;
  return visible && Clock::now() - drawn_ >= std::chrono::milliseconds(100);
}

void ProgressLine::show(double share, const std::string& words) {
  if (!due()) return;
  const int width = columns_of_stderr();
  const int bar = width < 60 ? 8 : 24;
  const int full = static_cast<int>(share * bar);
  drawn_ = Clock::now();
  std::string line = fmt::format("[{}{}] {:3.0f}%  {}", repeat("#", full), repeat(".", bar - full), share * 100, words);
  if (columns_of(line) >= width) line = fitted(line, width - 1);  // a line that wraps cannot be cleared
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (drawn_ != Clock::time_point{}) std::fputs("\r\x1b[K", stderr);
  drawn_ = {};
}

double ProgressLine::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void ProgressLine::count(std::int64_t done, std::int64_t total, const std::string& what) {
  if (interrupted()) throw Interrupted();
  if (!due() || done == 0 || done >= total) return;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  show(share, fmt::format("{} {} of {}, {:.0f} s left", what, done, total, seconds() * (1 - share) / share));
}

}  // namespace attn::cli
