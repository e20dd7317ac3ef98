#include "nn/embedding.h"

#include <stdexcept>
#include <string>

#include "kernels/row_ops.h"

namespace attn::nn {
namespace {

void run(const AnyView<2>& table, std::span<const std::int32_t> ids, const View<float, 2>& out, bool add) {
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
  run(table, ids, out, false);
}
void add_embedded(const AnyView<2>& table, std::span<const std::int32_t> ids, View<float, 2> out) {
  run(table, ids, out, true);
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
