// nn/learn/pass.h - what every layer is told on the way forward and on the way back.
#pragma once

#include <cstdint>

#include "attn/attention.h"
#include "attn/thread_pool.h"
#include "nn/infer/matrix.h"

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

// Where a part of a batch stands in the whole: what is dropped and what a label weighs are then as if the whole were
// learned from at once.
struct PartOf {
  std::int64_t first_sequence = 0;
  std::int64_t first_row = 0;         // tokens before it
  std::int64_t first_source_row = 0;  // of what an encoder-decoder reads
  std::int64_t labels = 0;            // of the whole; 0: the part has them all
};

struct LearnPass {
  ThreadPool& pool;
  Scratch& scratch;
  bool training = false;   // dropout only then
  std::uint64_t seed = 0;  // of this step's dropout
  PartOf part = {};

  // Dropout of one place in the model: of attention's weights, or of tokens' rows. No two places drop the same numbers.
  [[nodiscard]] Dropout dropout(float rate, std::uint64_t place) const noexcept {
    if (!training) rate = 0;
    return {.rate = rate, .seed = seed + place * 0x9E3779B97F4A7C15U, .first_sequence = part.first_sequence};
  }
  [[nodiscard]] Dropout row_dropout(float rate, std::uint64_t place) const noexcept {
    Dropout rows = dropout(rate, place);
    rows.first_query = part.first_row;
    return rows;
  }
};

}  // namespace attn::nn
