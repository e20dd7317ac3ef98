// base/progress.h - the callback by which long work reports progress.
#pragma once

#include <cstdint>
#include <functional>

namespace attn::base {

// Called now and then on the caller's thread with done <= total. An exception from it ends the work. May be empty.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

inline void tell(const Progress& progress, std::int64_t done, std::int64_t total) {
  if (progress) progress(done, total);
}

}  // namespace attn::base
