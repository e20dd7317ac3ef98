// nn/learn/pass.h - the context that every layer receives in forward() and backward().
#pragma once

#include <cstdint>

#include "attn/attention.h"
#include "attn/thread_pool.h"
#include "nn/infer/matrix.h"

namespace attn::nn {

// A matrix that keeps its memory from step to step and grows only if necessary.
class Buffer {
 public:
  View<float, 2> take(std::int64_t rows, std::int64_t columns) {
    if (rows * columns > memory_.columns()) memory_ = Matrix(1, rows * columns);
    return view_ = {memory_.data(), {rows, columns}};
  }
  // The view that was taken last.
  [[nodiscard]] View<float, 2> view() const noexcept { return view_; }

 private:
  Matrix memory_;
  View<float, 2> view_;
};

// Scratch memory that layers use one after the other. Nothing in it outlives a call.
struct Scratch {
  Buffer wide, d_wide, d_up;  // [T, inner]
  Buffer rows, d_rows;        // [T, width]
  Buffer d_mixed, dq, dk, dv;
};

// The place of a part of a batch in the whole. With it, dropout and the weight of a label are as if the whole batch
// were computed at once.
struct PartOf {
  std::int64_t first_sequence = 0;
  std::int64_t first_row = 0;         // tokens before this part
  std::int64_t first_source_row = 0;  // the same for the encoder's tokens
  std::int64_t labels = 0;            // in the whole batch; 0: this part is the whole
};

struct LearnPass {
  ThreadPool& pool;
  Scratch& scratch;
  bool training = false;   // enables dropout
  std::uint64_t seed = 0;  // for dropout of this step
  PartOf part = {};

  // Dropout at one place in the model: on attention weights, or on rows of tokens. No two places drop the same numbers.
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
