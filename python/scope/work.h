// python/scope/work.h - long work beside Python: without its lock, and ended by Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "base/progress.h"
#include "python/engine/runtime.h"

namespace attn::python {

// work(pool), while other threads of Python go on.
template <typename Work>
auto unlocked(Work&& work) {
  const auto threads = pool();
  const nb::gil_scoped_release released;
  return std::forward<Work>(work)(*threads);
}

// For work that tells how far it is: throws what a signal's handler raises, KeyboardInterrupt as a rule.
void check_signals();
inline base::Progress until_interrupted() {
  return [](std::int64_t /*done*/, std::int64_t /*total*/) { check_signals(); };
}

}  // namespace attn::python
