// engine/runtime/scratch.h - memory that a thread keeps from call to call.
//
// A call of a few microseconds cannot afford to fault fresh pages in. What is large is given back.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "engine/kernels/common/plain.h"

namespace attn {

// Floats aligned to a cache line, grown and never copied.
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

  // At least n floats, with whatever is in them. What was given before is void.
  float* reserve(std::int64_t n) {
    if (n > size_) {
      release(0);
      const auto floats = static_cast<std::size_t>(n);
      data_.reset(allocate(floats * sizeof(float)));
      size_ = n;
    }
    return data_.get();
  }
  // Gives the memory back if it is more than `keep`.
  void release(std::int64_t keep = kKeep) noexcept {
    if (size_ <= keep) return;
    data_.reset();
    size_ = 0;
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  struct Free {
    void operator()(float* p) const noexcept { std::free(p); }
  };

  // Large blocks come in huge pages, if the system has them: fewer faults when they are first written.
  static float* allocate(std::size_t bytes) {
    const std::size_t unit = bytes >= kHugePage ? kHugePage : kLine;
    const std::size_t rounded = (bytes + unit - 1) / unit * unit;
    void* p = std::aligned_alloc(unit, rounded);
    if (p == nullptr) throw std::bad_alloc();
    if (unit == kHugePage) madvise(p, rounded, MADV_HUGEPAGE);
    return static_cast<float*>(p);
  }

  std::unique_ptr<float, Free> data_;
  std::int64_t size_ = 0;
};

// What one thread needs while it computes a block.
struct Workspace {
  Floats kernel;  // of a kernel's own
  Floats panels;  // keys, where a task packs its own
  Floats values;  // values, likewise
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
