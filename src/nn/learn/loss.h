// nn/learn/loss.h - softmax cross-entropy, also through a linear head without ever storing all logits.
//
//   loss = -mean_i log softmax(logits[i])[label[i]]      d_logits[i] = (softmax(logits[i]) - onehot(label[i])) /
//   counted
#pragma once

#include <cstdint>
#include <span>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/learn/dense.h"

namespace attn::nn {

inline constexpr std::int32_t kNoLabel = -100;  // a row that does not count, as torch marks it

struct Loss {
  double sum = 0;            // over the rows that count
  std::int64_t counted = 0;  // rows that have a label
  std::int64_t right = 0;    // of those: whose largest logit is that of the label (the first of equal ones)

  [[nodiscard]] double mean() const noexcept { return counted == 0 ? 0 : sum / static_cast<double>(counted); }
  Loss& operator+=(const Loss& other) noexcept;
};

// Logits [N, V] become the gradient of `weight` times the sum of losses: 1 / counted makes it that of the mean. A row
// without label becomes 0. Labels must be kNoLabel or in [0, V): throws std::invalid_argument before writing. The sum
// is made in double, row after row: the same bits whatever the number of threads.
Loss cross_entropy(View<float, 2> logits, std::span<const std::int32_t> labels, float weight, ThreadPool& pool);
// The loss alone; logits stay.
Loss cross_entropy_loss(View<const float, 2> logits, std::span<const std::int32_t> labels, ThreadPool& pool);

// By what the sum of losses is multiplied to give their mean: 1 / counted, or 1 if nothing has a label. `of_whole`:
// that many count in the batch of which these are a part; 0: these are all.
float mean_weight(std::span<const std::int32_t> labels, std::int64_t of_whole = 0) noexcept;
// Labels that are not kNoLabel.
std::int64_t count_labels(std::span<const std::int32_t> labels) noexcept;

// cross_entropy of dense(head, x), a few hundred rows at a time. dx [N, in] is written (0 where there is no label),
// gradients of the head are added to what is there. Rows without label are not even multiplied.
struct HeadLoss {
  View<const float, 2> x;
  std::span<const std::int32_t> labels;
  float weight = 1;
  View<float, 2> dx;  // empty: only the loss is wanted, and no gradient is made
};
Loss head_loss(const Dense& head, const HeadLoss& task, ThreadPool& pool);

}  // namespace attn::nn
