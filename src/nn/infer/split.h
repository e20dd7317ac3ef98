// nn/infer/split.h - distributes rows over threads if that pays off; lengths of concatenated sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "attn/thread_pool.h"

namespace attn::nn {

// Calls f(first, count) for stretches that cover all rows. `work` is the cost of a row, in numbers read and written
// once: fewer than 16,384 per task take less time than waking a helper.
template <typename F>
void split_rows(std::int64_t rows, std::int64_t work, ThreadPool& pool, const F& f) {
  constexpr std::int64_t kLeast = 16384;
  const std::int64_t most = std::min<std::int64_t>(rows, pool.threads() == 1 ? 1 : std::int64_t{4} * pool.threads());
  const std::int64_t tasks = std::clamp<std::int64_t>(rows * work / kLeast, 1, std::max<std::int64_t>(most, 1));
  if (tasks == 1) {
    if (rows > 0) f(std::int64_t{0}, rows);
    return;
  }
  pool.run(tasks, [&](std::int64_t t, int) {
    const std::int64_t first = rows * t / tasks;
    f(first, rows * (t + 1) / tasks - first);
  });
}

// The longest of the sequences [starts[s], starts[s + 1]).
inline std::int64_t longest(std::span<const std::int64_t> starts) noexcept {
  std::int64_t most = 0;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) most = std::max(most, starts[s + 1] - starts[s]);
  return most;
}

}  // namespace attn::nn
