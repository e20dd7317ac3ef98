#include "nn/infer/embedding.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/kernels/rows/row_backward.h"
#include "engine/kernels/rows/row_ops.h"
#include "nn/infer/split.h"

namespace attn::nn {
namespace {

void gather_rows(const AnyView<2>& table, std::span<const std::int32_t> ids, const View<float, 2>& out, bool add) {
  if (out.shape[0] != std::ssize(ids) || out.shape[1] != table.shape[1]) {
    throw std::invalid_argument("embed: " + std::to_string(ids.size()) + " rows of " + std::to_string(table.shape[1]) +
                                " numbers do not make " + std::to_string(out.shape[0]) + " x " +
                                std::to_string(out.shape[1]));
  }
  kernels::Gather task;
  task.table = {table.data, table.strides[0], static_cast<kernels::Element>(table.type)};
  task.ids = ids.data();
  task.out = {out.data, out.strides[0]};
  task.rows = out.shape[0];
  task.width = out.shape[1];
  task.add = add;
  kernels::gather(task);
}

}  // namespace

void embed(const AnyView<2>& table, std::span<const std::int32_t> ids, View<float, 2> out) {
  gather_rows(table, ids, out, false);
}
void add_embedded(const AnyView<2>& table, std::span<const std::int32_t> ids, View<float, 2> out) {
  gather_rows(table, ids, out, true);
}

void embed_backward(std::span<const std::int32_t> ids, View<const float, 2> d_out, View<float, 2> gradient,
                    ThreadPool& pool) {
  if (d_out.shape[0] != std::ssize(ids) || d_out.shape[1] != gradient.shape[1]) {
    throw std::invalid_argument("embed_backward: d_out is " + std::to_string(d_out.shape[0]) + " x " +
                                std::to_string(d_out.shape[1]) + "; " + std::to_string(ids.size()) + " rows of " +
                                std::to_string(gradient.shape[1]) + " numbers are needed");
  }
  // Each task owns some columns of the table, in whole cache lines. So every row is added to in the order of i.
  constexpr std::int64_t kLine = 16;
  const std::int64_t width = gradient.shape[1];
  split_rows((width + kLine - 1) / kLine, d_out.shape[0] * kLine, pool, [&](std::int64_t first, std::int64_t count) {
    kernels::Scatter task;
    task.x = {d_out.data + first * kLine, d_out.strides[0]};
    task.ids = ids.data();
    task.table = {gradient.data + first * kLine, gradient.strides[0]};
    task.rows = d_out.shape[0];
    task.width = std::min(count * kLine, width - first * kLine);
    kernels::scatter(task);
  });
}

std::vector<float> as_floats(const AnyView<1>& x) {
  std::vector<float> floats(static_cast<std::size_t>(x.shape[0]));
  kernels::Gather task;
  task.table = {x.data, x.shape[0], static_cast<kernels::Element>(x.type)};
  task.out = {floats.data(), x.shape[0]};
  task.rows = 1;
  task.width = x.shape[0];
  kernels::gather(task);
  return floats;
}

}  // namespace attn::nn
