#include "engine/runtime/process.h"

#include <pthread.h>

#include <atomic>

namespace attn {
namespace {

std::atomic<unsigned> forks{0};

}  // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t most;
  sigfillset(&most);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) sigdelset(&most, s);
  pthread_sigmask(SIG_SETMASK, &most, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

unsigned fork_count() {
  static const int watching = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watching);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace attn
