// nn/infer/activation.h - activation functions and their gradients.
#pragma once

#include <cstdint>

#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn::nn {

enum class Activation : std::uint8_t {
  none,
  relu,
  gelu,       // x/2 (1 + erf(x / sqrt 2))
  gelu_tanh,  // its approximation by tanh, "gelu_new" and "gelu_pytorch_tanh" in configurations
  silu,       // x / (1 + e^-x)
  tanh,
};

// x = f(x)
void activate(View<float, 2> x, Activation f, ThreadPool& pool);

// gate = f(gate) * up, element by element: the middle of a gated feed-forward layer.
void activate_gate(View<float, 2> gate, View<const float, 2> up, Activation f, ThreadPool& pool);

// y = f(x); x stays.
void activate(View<const float, 2> x, Activation f, View<float, 2> y, ThreadPool& pool);

// Replaces dy by dx = f'(x) dy. x is the input of f.
void activate_backward(View<const float, 2> x, Activation f, View<float, 2> dy, ThreadPool& pool);

// The gradients of y = f(gate) * up: replaces dy by d_gate and writes d_up.
void activate_gate_backward(View<const float, 2> gate, View<const float, 2> up, Activation f, View<float, 2> dy,
                            View<float, 2> d_up, ThreadPool& pool);

}  // namespace attn::nn
