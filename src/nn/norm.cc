#include "nn/norm.h"

#include <stdexcept>
#include <string>

#include "kernels/row_ops.h"
#include "nn/split.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kWork = 2;  // a row is read more than once, but from the first cache

void check(const char* name, const View<const float, 2>& x, const View<float, 2>& out, std::size_t weights) {
  const auto width = static_cast<std::int64_t>(weights);
  if (x.shape == out.shape && x.shape[1] == width) return;
  throw std::invalid_argument(std::string(name) + ": x is " + std::to_string(x.shape[0]) + " x " +
                              std::to_string(x.shape[1]) + " and out " + std::to_string(out.shape[0]) + " x " +
                              std::to_string(out.shape[1]) + "; with " + std::to_string(width) +
                              " weights both must have that width");
}

void run(const kernels::Normalize& all, ThreadPool& pool) {
  split_rows(all.rows, all.width * kWork, pool, [&](std::int64_t first, std::int64_t count) {
    kernels::Normalize task = all;
    task.x.data += first * all.x.stride;
    task.out.data += first * all.out.stride;
    task.rows = count;
    kernels::normalize(task);
  });
}

kernels::Normalize task_of(const View<const float, 2>& x, const View<float, 2>& out) {
  kernels::Normalize task;
  task.x = {x.data, x.strides[0]};
  task.out = {out.data, out.strides[0]};
  task.rows = x.shape[0];
  task.width = x.shape[1];
  return task;
}

}  // namespace

void LayerNorm::operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const {
  check("LayerNorm", x, out, weight.size());
  if (!bias.empty() && bias.size() != weight.size()) {
    throw std::invalid_argument("LayerNorm: " + std::to_string(bias.size()) + " biases for " +
                                std::to_string(weight.size()) + " weights; give as many, or none");
  }
  kernels::Normalize task = task_of(x, out);
  task.weight = weight.data();
  task.bias = bias.empty() ? nullptr : bias.data();
  task.epsilon = epsilon;
  run(task, pool);
}

void RmsNorm::operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const {
  check("RmsNorm", x, out, weight.size());
  kernels::Normalize task = task_of(x, out);
  task.weight = weight.data();
  task.epsilon = epsilon;
  task.centered = false;
  run(task, pool);
}

}  // namespace attn::nn
