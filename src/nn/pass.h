// nn/pass.h - what every layer is told on the way forward and on the way back.
#pragma once

#include <cstdint>

#include "attn/attention.h"
#include "attn/thread_pool.h"
#include "nn/matrix.h"

namespace attn::nn {

// A matrix that keeps its memory from step to step and grows only if it must.
class Buffer {
 public:
  View<float, 2> take(std::int64_t rows, std::int64_t columns) {
    if (rows * columns > memory_.columns()) memory_ = Matrix(1, rows * columns);
    return view_ = {memory_.data(), {rows, columns}};
  }
  // What was taken last.
  [[nodiscard]] View<float, 2> view() const noexcept { return view_; }

 private:
  Matrix memory_;
  View<float, 2> view_;
};

// Memory that layers use one after the other. Nothing in it outlives a call.
struct Scratch {
  Buffer wide, d_wide, d_up;  // [T, inner]
  Buffer rows, d_rows;        // [T, width]
  Buffer d_mixed, dq, dk, dv;
};

struct LearnPass {
  ThreadPool& pool;
  Scratch& scratch;
  bool training = false;   // dropout only then
  std::uint64_t seed = 0;  // of this step's dropout

  // Dropout of one place in the model. No two places drop the same numbers.
  [[nodiscard]] Dropout dropout(float rate, std::uint64_t place) const noexcept {
    if (!training) rate = 0;
    return {.rate = rate, .seed = seed + place * 0x9E3779B97F4A7C15U};
  }
};

}  // namespace attn::nn
