#include "nn/learn/loss.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/kernels/rows/training.h"
#include "nn/infer/embedding.h"
#include "nn/infer/product.h"
#include "nn/infer/split.h"
#include "nn/learn/column_sums.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kLogitWork = 6;  // cost of a logit, see split.h
constexpr std::int64_t kRows = 256;     // rows of logits in memory at a time

void check_labels(const char* name, std::span<const std::int32_t> labels, std::int64_t rows, std::int64_t classes) {
  if (std::ssize(labels) != rows) {
    throw std::invalid_argument(std::string(name) + ": " + std::to_string(labels.size()) + " labels for " +
                                std::to_string(rows) + " rows");
  }
  for (std::size_t n = 0; n < labels.size(); ++n) {
    if (labels[n] == kNoLabel || (labels[n] >= 0 && labels[n] < classes)) continue;
    throw std::invalid_argument(std::string(name) + ": label " + std::to_string(n) + " is " +
                                std::to_string(labels[n]) + "; it must be below " + std::to_string(classes) +
                                ", or -100 for none");
  }
}

// Writes the gradient unless its pointer is null.
Loss cross_entropy_rows(const View<const float, 2>& logits, std::span<const std::int32_t> labels, float weight,
                        const View<float, 2>& gradient, ThreadPool& pool) {
  const std::int64_t classes = logits.shape[1];
  std::vector<kernels::RowLoss> rows(labels.size());
  split_rows(logits.shape[0], classes * kLogitWork, pool, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = first; r < first + count; ++r) {
      const std::int32_t label = labels[static_cast<std::size_t>(r)];
      float* const to = gradient.empty() ? nullptr : gradient.at(r);
      if (label != kNoLabel) {
        rows[static_cast<std::size_t>(r)] = kernels::cross_entropy({logits.at(r), classes, label, weight, to});
      } else if (to != nullptr) {
        std::fill_n(to, classes, 0.0F);
      }
    }
  });
  Loss loss;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (labels[r] == kNoLabel) continue;
    loss.sum += rows[r].loss;
    ++loss.counted;
    if (rows[r].right) ++loss.right;
  }
  return loss;
}

// The head of a model, packed for all chunks of one call.
class LossHead {
 public:
  LossHead(const Dense& layer, const HeadLoss& task, ThreadPool& pool) : layer_(layer), task_(task), pool_(pool) {
    const std::int64_t inputs = layer.inputs(), classes = layer.outputs();
    const bool learns = !task.dx.empty();
    forward_ = pack_panels(layer.w.value, layer.b.value, layer.input_first,
                           reserve_scratch(Use::head_forward, panel_floats(inputs, classes)), pool);
    if (learns) {
      backward_ = pack_panels(layer.w.value, {}, !layer.input_first,
                              reserve_scratch(Use::head_backward, panel_floats(classes, inputs)), pool);
    }
    logits_ = reserve_scratch(Use::logits, kRows * (classes + 2 * inputs));
  }

  // The loss of at most kRows rows.
  Loss add(std::span<const std::int32_t> rows) {
    const std::int64_t count = std::ssize(rows), inputs = layer_.inputs(), classes = layer_.outputs();
    const View<float, 2> logits{logits_, {count, classes}};
    const View<float, 2> x{logits_ + kRows * classes, {count, inputs}};
    const View<float, 2> dx{logits_ + kRows * (classes + inputs), {count, inputs}};
    std::vector<std::int32_t> labels;
    for (const std::int32_t row : rows) labels.push_back(task_.labels[static_cast<std::size_t>(row)]);
    embed(task_.x, rows, x);
    multiply(forward_, x, logits);
    if (task_.dx.empty()) return cross_entropy_rows(logits, labels, 1, {}, pool_);
    const Loss loss = cross_entropy_rows(logits, labels, task_.weight, logits, pool_);
    multiply(backward_, logits, dx);
    for (std::int64_t r = 0; r < count; ++r) {
      std::copy_n(dx.at(r), inputs, task_.dx.at(rows[static_cast<std::size_t>(r)]));
    }
    if (layer_.input_first) {
      add_transposed_product(x, logits, layer_.w.gradient, pool_);
    } else {
      add_transposed_product(logits, x, layer_.w.gradient, pool_);
    }
    if (!layer_.b.empty()) add_column_sums(logits, layer_.b.gradient, pool_);
    return loss;
  }

 private:
  void multiply(const Panels& panels, const View<const float, 2>& x, const View<float, 2>& y) {
    kernels::Product p = panels.times(x.shape[0], y);
    run_products({&p, 1}, {x}, pool_);
  }

  const Dense& layer_;
  const HeadLoss& task_;
  ThreadPool& pool_;
  Panels forward_, backward_;
  float* logits_ = nullptr;  // [kRows, classes], then rows of x and of dx
};

}  // namespace

Loss& Loss::operator+=(const Loss& other) noexcept {
  sum += other.sum;
  counted += other.counted;
  right += other.right;
  return *this;
}

Loss cross_entropy(View<float, 2> logits, std::span<const std::int32_t> labels, float weight, ThreadPool& pool) {
  check_labels("cross_entropy", labels, logits.shape[0], logits.shape[1]);
  return cross_entropy_rows(logits, labels, weight, logits, pool);
}

Loss cross_entropy_loss(View<const float, 2> logits, std::span<const std::int32_t> labels, ThreadPool& pool) {
  check_labels("cross_entropy_loss", labels, logits.shape[0], logits.shape[1]);
  return cross_entropy_rows(logits, labels, 1, {}, pool);
}

std::int64_t count_labels(std::span<const std::int32_t> labels) noexcept {
  return std::ranges::count_if(labels, [](std::int32_t label) { return label != kNoLabel; });
}

float mean_weight(std::span<const std::int32_t> labels, std::int64_t of_whole) noexcept {
  const std::int64_t counted = of_whole > 0 ? of_whole : count_labels(labels);
  return 1 / static_cast<float>(std::max<std::int64_t>(counted, 1));
}

Loss head_loss(const Dense& head, const HeadLoss& task, ThreadPool& pool) {
  if (task.x.shape[1] != head.inputs() || (!task.dx.empty() && task.dx.shape != task.x.shape)) {
    throw std::invalid_argument("head_loss: x is " + shape_text(task.x) + " and dx " + shape_text(task.dx) +
                                "; the head has " + std::to_string(head.inputs()) +
                                " inputs, and dx is like x or empty");
  }
  check_labels("head_loss", task.labels, task.x.shape[0], head.outputs());
  std::vector<std::int32_t> rows;
  for (std::size_t n = 0; n < task.labels.size(); ++n) {
    if (task.labels[n] != kNoLabel) {
      rows.push_back(static_cast<std::int32_t>(n));
    } else if (!task.dx.empty()) {
      std::fill_n(task.dx.at(static_cast<std::int64_t>(n)), task.dx.shape[1], 0.0F);
    }
  }
  Loss loss;
  if (rows.empty()) return loss;
  LossHead running(head, task, pool);
  for (std::size_t first = 0; first < rows.size(); first += kRows) {
    loss += running.add(std::span(rows).subspan(first, std::min<std::size_t>(kRows, rows.size() - first)));
  }
  return loss;
}

}  // namespace attn::nn
