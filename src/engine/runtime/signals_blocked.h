// engine/runtime/signals_blocked.h - threads that leave signals to the program.
#pragma once

#include <pthread.h>

#include <csignal>

namespace attn {

// While this lives, new threads block signals, which go to the program's own threads, except for those that a fault or
// a profiler sends to the thread itself: a blocked SIGBUS would end the process without calling its handler.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t most;
    sigfillset(&most);
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) sigdelset(&most, s);
    pthread_sigmask(SIG_SETMASK, &most, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace attn
