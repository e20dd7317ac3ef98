// python/scope/work.h - runs long work without Python's lock, interruptible by Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "base/progress.h"
#include "python/engine/runtime.h"

namespace attn::python {

// Runs work(pool) without the GIL.
template <typename Work>
auto unlocked(Work&& work) {
  const auto threads = pool();
  const nb::gil_scoped_release released;
  return std::forward<Work>(work)(*threads);
}

// A progress callback that throws what a signal handler raises, usually KeyboardInterrupt.
void check_signals();
inline base::Progress until_interrupted() {
  return [](std::int64_t /*done*/, std::int64_t /*total*/) { check_signals(); };
}

}  // namespace attn::python
