// engine/runtime/scratch.h - scratch memory that a thread keeps from call to call.
//
// A call of a few microseconds cannot afford page faults on fresh memory. Large blocks are returned to the system.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "engine/kernels/common/plain.h"
#include "engine/runtime/pages.h"

namespace attn {

// An array of floats aligned to a cache line. Growing it discards its contents.
class Floats {
 public:
  static constexpr std::int64_t kKeep = std::int64_t{2} << 20;  // floats that survive release(): 8 MB

  Floats() = default;
  Floats(Floats&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Floats& operator=(Floats&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Returns at least n floats, uninitialised. Invalidates the pointer of the call before.
  float* reserve(std::int64_t n) {
    if (n > size_) {
      release(0);
      const auto floats = static_cast<std::size_t>(n);
      data_.reset(static_cast<float*>(allocate_block(floats * sizeof(float))));
      size_ = n;
    }
    return data_.get();
  }
  // Frees the memory if it is more than `keep`.
  void release(std::int64_t keep = kKeep) noexcept {
    if (size_ <= keep) return;
    data_.reset();
    size_ = 0;
  }

 private:
  struct Free {
    void operator()(float* p) const noexcept { std::free(p); }
  };

  std::unique_ptr<float, Free> data_;
  std::int64_t size_ = 0;
};

// The scratch memory of one thread.
struct Workspace {
  Floats kernel;  // scratch of a kernel
  Floats panels;  // packed keys of a task
  Floats values;  // packed values of a task
  std::vector<std::uint8_t> flags;
  std::vector<kernels::Segment> segments;
  std::vector<kernels::Visit> visits;
  std::vector<std::int32_t> cursors;
  std::vector<std::uint64_t> bits;

  void release() noexcept {
    kernel.release();
    panels.release();
    values.release();
  }
  static Workspace& mine() {
    thread_local Workspace workspace;
    return workspace;
  }
};

}  // namespace attn
