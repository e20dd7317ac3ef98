// engine/kernels/rows/training.h - kernels for training only: dropout, cross-entropy, the optimiser's step.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"
#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

// Multiplies number (first_row + i, j) by dropout.scale if it is kept, and by 0 otherwise.
struct Drop {
  OutRows x;
  std::int64_t rows = 0, width = 0;
  std::int64_t first_row = 0;
  DropoutHash dropout;
};
void drop(const Drop& task) noexcept;

// Cross-entropy of one row of logits: log sum_j exp(logits[j] - peak) - (logits[label] - peak), where peak is the
// largest logit. NaN if a logit is NaN or +inf. The gradient is weight times that of the loss.
struct CrossEntropy {
  const float* logits = nullptr;
  std::int64_t width = 0, label = 0;
  float weight = 1;
  float* gradient = nullptr;  // may be logits; null: not wanted
};
struct RowLoss {
  double loss = 0;
  bool right = false;  // the label's logit is the largest, and the first of equals
};
RowLoss cross_entropy(const CrossEntropy& task) noexcept;

// One step of AdamW on `count` numbers, rounded as torch.optim.AdamW does.
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
