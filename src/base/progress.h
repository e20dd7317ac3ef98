// base/progress.h - how long work tells how far it is.
#pragma once

#include <cstdint>
#include <functional>

namespace attn::base {

// Called now and then on the caller's thread with done <= total. What it throws ends the work. Empty: nobody asks.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

inline void tell(const Progress& progress, std::int64_t done, std::int64_t total) {
  if (progress) progress(done, total);
}

}  // namespace attn::base
