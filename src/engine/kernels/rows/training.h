// engine/kernels/rows/training.h - what only learning needs: dropout, cross-entropy, the step of the optimiser.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"
#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

// Number (first_row + i, j) becomes 0, or keep.scale times itself.
struct Drop {
  OutRows x;
  std::int64_t rows = 0, width = 0;
  std::int64_t first_row = 0;
  DropoutHash dropout;
};
void drop(const Drop& task) noexcept;

// One row of logits. Its loss is the sum's logarithm less the label's logit, both less the largest logit; NaN if a
// logit is NaN or +inf.
struct CrossEntropy {
  const float* logits = nullptr;
  std::int64_t width = 0, label = 0;
  float weight = 1;
  float* gradient = nullptr;  // may be logits; null: not wanted
};
struct RowLoss {
  double loss = 0;
  bool right = false;  // the label's logit is the largest, and the first of equal ones
};
RowLoss cross_entropy(const CrossEntropy& task) noexcept;

// A step of AdamW on `count` numbers, as torch.optim.AdamW rounds it.
struct Update {
  float* value = nullptr;
  const float* gradient = nullptr;
  float *first = nullptr, *second = nullptr;  // the moments
  std::int64_t count = 0;
  float scale = 1;   // of the gradient
  float shrink = 1;  // 1 - rate decay
  float beta2 = 0;
  float fresh1 = 0, fresh2 = 0;  // 1 - beta
  float root = 1;                // sqrt(1 - beta2^step)
  float epsilon = 0;
  float rate = 0;  // rate / (1 - beta1^step)
};
void update(const Update& task) noexcept;

// The sum of squares, in double.
double sum_of_squares(const float* x, std::int64_t count) noexcept;

}  // namespace attn::kernels
