// engine/runtime/process.h - what threads have to know of their process: its signals and its forks. process.cc asks the
// system; in WebAssembly (process_wasm.cc) there are neither.
#pragma once

#include <csignal>

namespace attn {

// While this lives, new threads block signals, which go to the program's own threads, except for those that a fault or
// a profiler sends to the thread itself: a blocked SIGBUS would end the process without calling its handler.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  [[maybe_unused]] sigset_t before_{};
};

// The number of forks that led to this process, counted from the first call on. A pool made before the last fork has no
// helpers here.
unsigned fork_count();

}  // namespace attn
