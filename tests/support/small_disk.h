// tests/support/small_disk.h - a disk that is full after so many bytes a file.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace attn::test {

// Files of this process can grow no longer than this while it lives.
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
