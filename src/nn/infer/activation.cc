#include "nn/infer/activation.h"

#include <stdexcept>
#include <string>

#include "engine/kernels/rows/row_backward.h"
#include "engine/kernels/rows/row_ops.h"
#include "nn/infer/product.h"
#include "nn/infer/split.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kActivationWork = 4;  // a number that goes through e^x costs about four that are only moved

void check_alike(const char* what, const View<const float, 2>& a, const View<const float, 2>& b) {
  if (a.shape == b.shape) return;
  throw std::invalid_argument(std::string(what) + " are " + shape_text(a) + " and " + shape_text(b) +
                              "; they must have the same shape");
}

void run_activation(View<float, 2> x, View<const float, 2> up, Activation f, ThreadPool& pool) {
  split_rows(x.shape[0], x.shape[1] * kActivationWork, pool, [&](std::int64_t first, std::int64_t count) {
    kernels::Activate task;
    task.x = {x.at(first), x.strides[0]};
    if (!up.empty()) task.up = {up.at(first), up.strides[0]};
    task.rows = count;
    task.width = x.shape[1];
    task.function = static_cast<kernels::Activation>(f);
    kernels::activate(task);
  });
}

}  // namespace

static_assert(static_cast<int>(Activation::tanh) == static_cast<int>(kernels::Activation::tanh));

void activate(View<float, 2> x, Activation f, ThreadPool& pool) {
  if (f != Activation::none) run_activation(x, {}, f, pool);
}

void activate_gate(View<float, 2> gate, View<const float, 2> up, Activation f, ThreadPool& pool) {
  check_alike("activate_gate: gate and up", gate, up);
  if (!gate.empty()) run_activation(gate, up, f, pool);
}

void activate(View<const float, 2> x, Activation f, View<float, 2> y, ThreadPool& pool) {
  check_alike("activate: x and y", x, y);
  split_rows(x.shape[0], x.shape[1] * kActivationWork, pool, [&](std::int64_t first, std::int64_t count) {
    kernels::Activate task;
    task.x = {y.at(first), y.strides[0]};
    task.from = {x.at(first), x.strides[0]};
    task.rows = count;
    task.width = x.shape[1];
    task.function = static_cast<kernels::Activation>(f);
    kernels::activate(task);
  });
}

namespace {

void run_backward(const kernels::ActivateBackward& all, ThreadPool& pool) {
  split_rows(all.rows, all.width * kActivationWork, pool, [&](std::int64_t first, std::int64_t count) {
    kernels::ActivateBackward task = all;
    task.x.data += first * all.x.stride;
    task.dy.data += first * all.dy.stride;
    task.dx.data += first * all.dx.stride;
    if (all.up.data != nullptr) {
      task.up.data += first * all.up.stride;
      task.d_up.data += first * all.d_up.stride;
    }
    task.rows = count;
    kernels::activate_backward(task);
  });
}

kernels::ActivateBackward backward_task(const View<const float, 2>& x, Activation f, const View<float, 2>& dy) {
  kernels::ActivateBackward task;
  task.x = {x.data, x.strides[0]};
  task.dy = {dy.data, dy.strides[0]};
  task.dx = {dy.data, dy.strides[0]};
  task.rows = x.shape[0];
  task.width = x.shape[1];
  task.function = static_cast<kernels::Activation>(f);
  return task;
}

}  // namespace

void activate_backward(View<const float, 2> x, Activation f, View<float, 2> dy, ThreadPool& pool) {
  check_alike("activate_backward: x and dy", x, dy);
  if (f != Activation::none) run_backward(backward_task(x, f, dy), pool);
}

void activate_gate_backward(View<const float, 2> gate, View<const float, 2> up, Activation f, View<float, 2> dy,
                            View<float, 2> d_up, ThreadPool& pool) {
  check_alike("activate_gate_backward: gate and up", gate, up);
  check_alike("activate_gate_backward: gate and dy", gate, dy);
  check_alike("activate_gate_backward: gate and d_up", gate, d_up);
  kernels::ActivateBackward task = backward_task(gate, f, dy);
  task.up = {up.data, up.strides[0]};
  task.d_up = {d_up.data, d_up.strides[0]};
  run_backward(task, pool);
}

}  // namespace attn::nn
