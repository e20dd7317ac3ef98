#include "course/compute/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/whole.h"
#include "figure/terminal/columns.h"

namespace attn::course {

namespace {

std::string share(const LessonArray& weights, std::int64_t i, std::int64_t j) {
  const double weight = weights.at(i, j);
  return fmt::format("{} {:.4f} ({:4.1f}%)", weights.columns.at(static_cast<std::size_t>(j)), weight, 100 * weight);
}

std::string query(const LessonArray& weights, std::int64_t i) {
  return figure::fitted(weights.rows.at(static_cast<std::size_t>(i)), figure::longest(weights.rows)) + " →";
}

}  // namespace

std::vector<std::int64_t> by_weight(const LessonArray& weights, std::int64_t row) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(weights.width()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  // Compares in millionths: the last bits differ between machines, and equal weights must keep their order.
  const auto rank = [&](std::int64_t key) { return std::pair(-std::llround(1e6 * weights.at(row, key)), key); };
  std::ranges::sort(order, {}, rank);
  return order;
}

std::string percent_lines(const LessonArray& weights) {
  std::string out;
  for (std::int64_t i = 0; i < weights.height(); ++i) {
    out += query(weights, i);
    for (std::int64_t j = 0; j < weights.width(); ++j) out += (j == 0 ? " " : "  ") + share(weights, i, j);
    out += "\n";
  }
  return out;
}

std::string top_lines(const LessonArray& weights) {
  static constexpr const char* kMarks[] = {"🎯", "👀", "📌"};
  std::string out;
  for (std::int64_t i = 0; i < weights.height(); ++i) {
    const std::vector<std::int64_t> order = by_weight(weights, i);
    out += query(weights, i);
    for (std::size_t n = 0; n < std::min(order.size(), std::size(kMarks)); ++n)
      out += fmt::format("  {} {}", kMarks[n], share(weights, i, order[n]));
    out += "\n";
  }
  return out;
}

std::string bar_lines(const LessonArray& weights, std::int64_t blocks) {
  const int room = figure::longest(weights.columns);
  std::string out;
  for (std::int64_t i = 0; i < weights.height(); ++i) {
    out += query(weights, i) + "\n";
    for (const std::int64_t j : by_weight(weights, i)) {
      const int full = base::whole<int>(weights.at(i, j) * static_cast<double>(blocks));
      out += fmt::format("  {} {:.3f} {}\n", figure::fitted(weights.columns.at(static_cast<std::size_t>(j)), room),
                         weights.at(i, j), figure::repeat("█", full));
    }
  }
  return out;
}

}  // namespace attn::course
