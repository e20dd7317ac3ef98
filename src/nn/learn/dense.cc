#include "nn/learn/dense.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "nn/infer/product.h"
#include "nn/learn/column_sums.h"

namespace attn::nn {
namespace {

void check_layers(std::span<const Dense> layers, const View<const float, 2>& x, std::size_t results) {
  if (layers.empty() || layers.size() != results) {
    throw std::invalid_argument("dense: " + std::to_string(layers.size()) + " layers and " + std::to_string(results) +
                                " results; there must be as many, and one at least");
  }
  for (const Dense& layer : layers) {
    if (layer.inputs() != x.shape[1]) {
      throw std::invalid_argument("dense: x is " + shape_text(x) + "; the layer has " + std::to_string(layer.inputs()) +
                                  " inputs");
    }
    if (!layer.b.empty() && layer.b.value.shape[0] != layer.outputs()) {
      throw std::invalid_argument("dense: " + std::to_string(layer.b.value.shape[0]) + " biases for " +
                                  std::to_string(layer.outputs()) + " outputs");
    }
  }
}

void check_result(const Dense& layer, const View<const float, 2>& x, const View<const float, 2>& y) {
  if (y.shape == Shape<2>{x.shape[0], layer.outputs()}) return;
  throw std::invalid_argument("dense: a result of " + shape_text(y) + "; it must be " +
                              shape_text(x.shape[0], layer.outputs()));
}

void check_like_x(const char* name, const View<const float, 2>& x, const View<const float, 2>& other) {
  if (other.empty() || other.shape == x.shape) return;
  throw std::invalid_argument(std::string("dense_backward: ") + name + " is " + shape_text(other) + " and x is " +
                              shape_text(x) + "; they must have the same shape");
}

// dx = dy w + add
void backward_input(const Dense& layer, const View<const float, 2>& dy, const View<float, 2>& dx,
                    const View<const float, 2>& add, ThreadPool& pool) {
  float* const panels = reserve_scratch(Use::panels, panel_floats(layer.outputs(), layer.inputs()));
  kernels::Product p = pack_panels(layer.w.value, {}, !layer.input_first, panels, pool).times(dy.shape[0], dx);
  if (!add.empty()) p.add = {add.data, add.strides[0]};
  run_products({&p, 1}, {dy}, pool);
}

void backward_weights(const Dense& layer, const View<const float, 2>& x, const View<const float, 2>& dy,
                      ThreadPool& pool) {
  if (!layer.w.gradient.empty()) {
    if (layer.input_first) {
      add_transposed_product(x, dy, layer.w.gradient, pool);
    } else {
      add_transposed_product(dy, x, layer.w.gradient, pool);
    }
  }
  if (!layer.b.gradient.empty()) add_column_sums(dy, layer.b.gradient, pool);
}

}  // namespace

void dense(std::span<const Dense> layers, View<const float, 2> x, std::span<const View<float, 2>> ys, ThreadPool& pool,
           const After& after) {
  check_layers(layers, x, ys.size());
  for (std::size_t n = 0; n < layers.size(); ++n) check_result(layers[n], x, ys[n]);
  if (!after.add.empty() && (ys.size() != 1 || after.add.shape != ys[0].shape)) {
    throw std::invalid_argument("dense: " + shape_text(after.add) + " to be added to " + std::to_string(ys.size()) +
                                " results; it takes one of that shape");
  }
  if (x.shape[0] == 0) return;
  std::int64_t floats = 0;
  for (const Dense& layer : layers) floats += panel_floats(layer.inputs(), layer.outputs());
  float* panels = reserve_scratch(Use::panels, floats);
  std::vector<kernels::Product> products;
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const Dense& layer = layers[n];
    kernels::Product p =
        pack_panels(layer.w.value, layer.b.value, layer.input_first, panels, pool).times(x.shape[0], ys[n]);
    p.activation = static_cast<kernels::Activation>(after.activation);
    if (!after.add.empty()) p.add = {after.add.data, after.add.strides[0]};
    products.push_back(p);
    panels += panel_floats(layer.inputs(), layer.outputs());
  }
  run_products(products, {x}, pool);
}

void dense(const Dense& layer, View<const float, 2> x, View<float, 2> y, ThreadPool& pool, const After& after) {
  dense({&layer, 1}, x, {&y, 1}, pool, after);
}

void dense_backward(std::span<const Dense> layers, const DenseBackward& task, ThreadPool& pool) {
  check_layers(layers, task.x, task.dys.size());
  for (std::size_t n = 0; n < layers.size(); ++n) check_result(layers[n], task.x, task.dys[n]);
  check_like_x("dx", task.x, task.dx);
  check_like_x("add", task.x, task.add);
  if (task.x.shape[0] == 0) return;
  for (std::size_t n = 0; n < layers.size(); ++n) {
    if (!task.dx.empty()) backward_input(layers[n], task.dys[n], task.dx, n == 0 ? task.add : task.dx, pool);
    backward_weights(layers[n], task.x, task.dys[n], pool);
  }
}

void dense_backward(const Dense& layer, View<const float, 2> x, View<const float, 2> dy, View<float, 2> dx,
                    ThreadPool& pool) {
  dense_backward({&layer, 1}, {x, {&dy, 1}, dx}, pool);
}

}  // namespace attn::nn
