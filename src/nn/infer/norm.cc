#include "nn/infer/norm.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/kernels/rows/row_backward.h"
#include "engine/kernels/rows/row_ops.h"
#include "nn/infer/product.h"
#include "nn/infer/split.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kNormWork = 2;  // a row is read more than once, but then from the L1 cache

void check_norm(const char* name, const View<const float, 2>& x, const View<const float, 2>& out, std::int64_t width) {
  if (x.shape == out.shape && x.shape[1] == width) return;
  throw std::invalid_argument(std::string(name) + ": x is " + shape_text(x) + " and the result " + shape_text(out) +
                              "; with " + std::to_string(width) + " weights both must have that width");
}

void check_bias(const char* name, std::int64_t biases, std::int64_t weights) {
  if (biases == weights) return;
  throw std::invalid_argument(std::string(name) + ": " + std::to_string(biases) + " biases for " +
                              std::to_string(weights) + " weights; give as many, or none");
}

void check_norm(const Norm& layer, const View<const float, 2>& x, const View<const float, 2>& out) {
  check_norm("norm", x, out, layer.weight.value.shape[0]);
  if (!layer.bias.empty()) check_bias("norm", layer.bias.value.shape[0], layer.weight.value.shape[0]);
}

void run_normalize(const kernels::Normalize& all, ThreadPool& pool) {
  split_rows(all.rows, all.width * kNormWork, pool, [&](std::int64_t first, std::int64_t count) {
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
  check_norm("LayerNorm", x, out, std::ssize(weight));
  if (!bias.empty()) check_bias("LayerNorm", std::ssize(bias), std::ssize(weight));
  kernels::Normalize task = task_of(x, out);
  task.weight = weight.data();
  task.bias = bias.empty() ? nullptr : bias.data();
  task.epsilon = epsilon;
  run_normalize(task, pool);
}

void RmsNorm::operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const {
  check_norm("RmsNorm", x, out, std::ssize(weight));
  kernels::Normalize task = task_of(x, out);
  task.weight = weight.data();
  task.epsilon = epsilon;
  task.centered = false;
  run_normalize(task, pool);
}

void norm(const Norm& layer, View<const float, 2> x, View<float, 2> y, ThreadPool& pool) {
  check_norm(layer, x, y);
  kernels::Normalize task = task_of(x, y);
  task.weight = layer.weight.value.data;
  task.bias = layer.bias.value.data;
  task.epsilon = layer.epsilon;
  task.centered = layer.centered;
  run_normalize(task, pool);
}

// Gradients of weight and bias are summed per block of rows, then over the blocks in order.
void norm_backward(const Norm& layer, const NormBackward& task, ThreadPool& pool) {
  constexpr std::int64_t kBlock = 64;
  check_norm(layer, task.x, task.dy);
  check_norm(layer, task.x, task.dx);
  const std::int64_t rows = task.x.shape[0], width = task.x.shape[1], blocks = divide_up(rows, kBlock);
  if (rows == 0) return;
  float* const sums = reserve_scratch(Use::sums, 2 * blocks * width);
  split_rows(blocks, kBlock * width * 2 * kNormWork, pool, [&](std::int64_t first, std::int64_t count) {
    std::fill_n(sums + first * 2 * width, count * 2 * width, 0.0F);
    for (std::int64_t b = first; b < first + count; ++b) {
      kernels::NormalizeBackward part;
      part.x = {task.x.at(b * kBlock), task.x.strides[0]};
      part.dy = {task.dy.at(b * kBlock), task.dy.strides[0]};
      part.dx = {task.dx.at(b * kBlock), task.dx.strides[0]};
      part.rows = std::min(kBlock, rows - b * kBlock);
      part.width = width;
      part.weight = layer.weight.value.data;
      part.d_weight = sums + b * 2 * width;
      part.d_bias = layer.bias.empty() ? nullptr : part.d_weight + width;
      part.epsilon = layer.epsilon;
      part.centered = layer.centered;
      part.add = task.add;
      kernels::normalize_backward(part);
    }
  });
  const auto add_up = [&](const float* from, const View<float, 1>& to) {
    if (!to.empty()) kernels::add_columns({{from, 2 * width}, blocks, width, to.data});
  };
  add_up(sums, layer.weight.gradient);
  add_up(sums + width, layer.bias.gradient);
}

}  // namespace attn::nn
