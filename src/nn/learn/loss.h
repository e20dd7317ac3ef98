// nn/learn/loss.h - softmax cross-entropy, also through a linear head without ever storing all logits at once.
//
//   loss        = -mean_i log softmax(logits[i])[label[i]]
//   d_logits[i] = (softmax(logits[i]) - onehot(label[i])) / counted
#pragma once

#include <cstdint>
#include <span>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/learn/dense.h"

namespace attn::nn {

inline constexpr std::int32_t kNoLabel = -100;  // a row without a label, as in torch

struct Loss {
  double sum = 0;            // of losses over the rows that have a label
  std::int64_t counted = 0;  // rows that have a label
  std::int64_t right = 0;    // of those, rows whose largest logit (the first of equals) is that of the label

  [[nodiscard]] double mean() const noexcept { return counted == 0 ? 0 : sum / static_cast<double>(counted); }
  Loss& operator+=(const Loss& other) noexcept;
};

// Replaces logits [N, V] by the gradient of `weight` times the sum of losses; weight = 1 / counted gives that of the
// mean. A row without a label becomes 0. Labels must be kNoLabel or in [0, V); otherwise throws std::invalid_argument
// before writing. Sums in double, row by row: the same bits for any number of threads.
Loss cross_entropy(View<float, 2> logits, std::span<const std::int32_t> labels, float weight, ThreadPool& pool);
// The loss alone; logits are unchanged.
Loss cross_entropy_loss(View<const float, 2> logits, std::span<const std::int32_t> labels, ThreadPool& pool);

// The factor from the sum of losses to their mean: 1 / counted, or 1 if no row has a label. `of_whole` is the number of
// labels in the whole batch of which these are a part; 0: these are all.
float mean_weight(std::span<const std::int32_t> labels, std::int64_t of_whole = 0) noexcept;
// The number of labels that are not kNoLabel.
std::int64_t count_labels(std::span<const std::int32_t> labels) noexcept;

// cross_entropy of dense(head, x), a few hundred rows at a time. Writes dx [N, in] (0 for rows without a label) and
// adds to the gradients of the head. Rows without a label are not even multiplied.
struct HeadLoss {
  View<const float, 2> x;
  std::span<const std::int32_t> labels;
  float weight = 1;
  View<float, 2> dx;  // empty: computes the loss only
};
Loss head_loss(const Dense& head, const HeadLoss& task, ThreadPool& pool);

}  // namespace attn::nn
