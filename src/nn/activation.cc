#include "nn/activation.h"

#include <stdexcept>
#include <string>

#include "kernels/row_ops.h"
#include "nn/split.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kWork = 4;  // a number that goes through e^x costs about four that are only moved

void run(View<float, 2> x, View<const float, 2> up, Activation f, ThreadPool& pool) {
  split_rows(x.shape[0], x.shape[1] * kWork, pool, [&](std::int64_t first, std::int64_t count) {
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
  if (f != Activation::none) run(x, {}, f, pool);
}

void activate_gate(View<float, 2> gate, View<const float, 2> up, Activation f, ThreadPool& pool) {
  if (gate.shape != up.shape) {
    throw std::invalid_argument("activate_gate: gate is " + std::to_string(gate.shape[0]) + " x " +
                                std::to_string(gate.shape[1]) + ", up is " + std::to_string(up.shape[0]) + " x " +
                                std::to_string(up.shape[1]) + "; they must be alike");
  }
  if (!gate.empty()) run(gate, up, f, pool);
}

}  // namespace attn::nn
