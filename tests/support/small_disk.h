// tests/support/small_disk.h - simulates a full disk: limits the size of files.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace attn::test {

// While this lives, files of this process cannot grow beyond this size.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    before_signal_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_signal_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*before_signal_)(int) = nullptr;
};

}  // namespace attn::test
