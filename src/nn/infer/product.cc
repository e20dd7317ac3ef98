#include "nn/infer/product.h"

#include <algorithm>
#include <array>
#include <vector>

#include "nn/infer/matrix.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kTransposed = 8;                  // strips transposed at a time: whole cache lines
constexpr std::int64_t kTasksPerThread = 4;              // so that no thread waits long for the last task
constexpr std::int64_t kAlone = std::int64_t{16} << 10;  // floats of x that the caller packs before helpers could wake
constexpr std::int64_t kRowBlock = 264;                  // rows of x, kDepth wide, that stay in the L2 cache
constexpr std::int64_t kStretchBlocks = 4;               // blocks that are packed before they are multiplied
constexpr std::int64_t kCached = std::int64_t{320} << 10;    // floats of x that stay there, 1.25 MB
constexpr std::int64_t kOpenSums = std::int64_t{96} << 10;   // floats of sums that stay there beside x, 384 KB
constexpr std::int64_t kSmall = std::int64_t{64} << 10;      // multiply-adds that take less time than waking a helper
constexpr std::int64_t kKeepFloats = std::int64_t{8} << 20;  // scratch that survives a call: 32 MB

// How a product is cut into tasks. The bits of the result do not depend on it.
struct Cut {
  std::int64_t blocks = 1;    // of strips of rows
  std::int64_t panels = 1;    // in a task
  std::int64_t together = 1;  // panels whose sums are open at a time
};

Cut cut_product(std::int64_t rows, std::int64_t inputs, std::int64_t panels, int threads) {
  Cut cut;
  const bool fits = kernels::packed_floats(rows, inputs) <= kCached;
  cut.blocks = fits ? 1 : divide_up(rows, kRowBlock);
  const std::int64_t block = divide_up(rows, cut.blocks);
  if (rows * inputs * panels * kernels::panel_columns() <= kSmall || threads == 1) {
    cut.panels = panels;
  } else {
    cut.panels = std::max<std::int64_t>(1, panels * cut.blocks / (kTasksPerThread * threads));
    cut.panels = std::min(cut.panels, panels);
  }
  if (kernels::packed_floats(block, inputs) > kCached) {
    cut.together = std::clamp<std::int64_t>(kOpenSums / (block * kernels::panel_columns()), 1, cut.panels);
  }
  return cut;
}

// Packs the rows for the kernel, unless there is only one, which can be read in place.
const float* packed_rows(const ProductRows& rows, float* to, ThreadPool& pool) {
  if (rows.rows() == 1 && !rows.transposed) return rows.x.data;
  kernels::PackRows task;
  task.x = {rows.x.data, rows.x.strides[0]};
  task.rows = rows.rows();
  task.inputs = rows.inputs();
  task.to = to;
  task.transposed = rows.transposed;
  const std::int64_t strips = kernels::strips_of(task.rows);
  if (task.rows * task.inputs <= kAlone || pool.threads() == 1) {
    kernels::pack_rows(task, 0, strips);
    return to;
  }
  const std::int64_t step = rows.transposed ? kTransposed : 1;
  pool.run(divide_up(strips, step),
           [&](std::int64_t t, int) { kernels::pack_rows(task, t * step, std::min(step, strips - t * step)); });
  return to;
}

}  // namespace

std::string shape_text(std::int64_t rows, std::int64_t columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

float* reserve_scratch(Use use, std::int64_t floats) {
  struct Kept {
    AlignedMemory memory;
    std::int64_t size = 0;
  };
  thread_local std::array<Kept, static_cast<std::size_t>(Use::sums) + 1> kept;
  Kept& mine = kept[static_cast<std::size_t>(use)];
  if (floats > mine.size || (mine.size > kKeepFloats && floats <= kKeepFloats)) {
    mine.size = 0;
    mine.memory = {};
    mine.memory = AlignedMemory(floats * std::int64_t{sizeof(float)});
    mine.size = floats;
  }
  return reinterpret_cast<float*>(mine.memory.data());
}

kernels::Product Panels::times(std::int64_t rows, const View<float, 2>& out) const noexcept {
  kernels::Product p;
  p.rows = rows;
  p.inputs = inputs;
  p.panels = data;
  p.outputs = outputs;
  p.bias = bias;
  p.out = {out.data, out.strides[0]};
  return p;
}

std::int64_t panel_floats(std::int64_t inputs, std::int64_t outputs) noexcept {
  return divide_up(outputs, kernels::panel_columns()) * kernels::panel_columns() * (inputs + 1);
}

Panels pack_panels(View<const float, 2> w, View<const float, 1> bias, bool input_first, float* to, ThreadPool& pool) {
  kernels::PackWeights task;
  task.matrix = {w.data, w.strides[0], kernels::Element::float32};
  task.input_first = input_first;
  task.inputs = w.shape[input_first ? 0 : 1];
  task.outputs = w.shape[input_first ? 1 : 0];
  task.panels = to;
  const std::int64_t count = divide_up(task.outputs, kernels::panel_columns());
  const auto pack = [&](std::int64_t t, int) {
    kernels::pack_weights(task, t * kPackPanels, std::min(kPackPanels, count - t * kPackPanels));
  };
  const std::int64_t tasks = divide_up(count, kPackPanels);
  if (task.inputs * task.outputs > kAlone) {
    pool.run(tasks, pack);
  } else {
    for (std::int64_t t = 0; t < tasks; ++t) pack(t, 0);
  }
  Panels panels{to, nullptr, task.inputs, task.outputs};
  if (bias.empty()) return panels;
  const std::int64_t padded = count * kernels::panel_columns();
  float* const behind = to + padded * task.inputs;
  std::fill(std::copy_n(bias.data, task.outputs, behind), behind + padded, 0.0F);
  panels.bias = behind;
  return panels;
}

namespace {

// Tasks go through all panels of a block of rows before the next block, so that the block's rows stay in the cache.
void run_packed(std::span<kernels::Product> products, const ProductRows& of, ThreadPool& pool) {
  const std::int64_t rows = of.rows(), inputs = of.inputs();
  const auto panels_in = [](const kernels::Product& p) { return divide_up(p.outputs, kernels::panel_columns()); };
  std::int64_t panels = 0;
  for (const kernels::Product& p : products) panels += panels_in(p);
  const Cut cut = cut_product(rows, inputs, panels, pool.threads());
  const std::int64_t strips = kernels::strips_of(rows);
  const std::int64_t x_floats = rows == 1 && !of.transposed ? 0 : kernels::packed_floats(rows, inputs);
  const std::int64_t own_floats = kernels::product_scratch(divide_up(strips, cut.blocks), cut.together);
  float* const scratch = reserve_scratch(Use::product, x_floats + own_floats * pool.threads());
  const float* const packed = packed_rows(of, scratch, pool);
  std::int64_t tasks = 0;
  for (kernels::Product& p : products) {
    p.x = packed;
    tasks += divide_up(panels_in(p), cut.panels);
  }
  pool.run(tasks * cut.blocks, [&](std::int64_t t, int worker) {
    kernels::ProductPart part;
    const std::int64_t block = t / tasks;
    part.first_strip = strips * block / cut.blocks;
    part.strips = strips * (block + 1) / cut.blocks - part.first_strip;
    const kernels::Product* p = products.data();
    for (t %= tasks; t >= divide_up(panels_in(*p), cut.panels); ++p) t -= divide_up(panels_in(*p), cut.panels);
    part.first_panel = t * cut.panels;
    part.panels = std::min(cut.panels, panels_in(*p) - part.first_panel);
    part.together = cut.together;
    part.scratch = scratch + x_floats + worker * own_floats;
    kernels::multiply(*p, part);
  });
}

}  // namespace

// Packs and multiplies many rows stretch by stretch, so that packed rows are still in the cache.
void run_products(std::span<kernels::Product> products, const ProductRows& of, ThreadPool& pool) {
  const std::int64_t step = kStretchBlocks * kRowBlock;
  if (of.transposed || of.rows() <= step || kernels::packed_floats(step, of.inputs()) <= kCached) {
    return run_packed(products, of, pool);
  }
  std::vector<kernels::Product> part(products.begin(), products.end());
  for (std::int64_t first = 0; first < of.rows(); first += step) {
    const std::int64_t count = std::min(step, of.rows() - first);
    for (std::size_t n = 0; n < part.size(); ++n) {
      part[n].rows = count;
      part[n].out.data = products[n].out.data + first * products[n].out.stride;
      if (part[n].add.data != nullptr) part[n].add.data = products[n].add.data + first * products[n].add.stride;
    }
    run_packed(part, {rows_of(of.x, first, count)}, pool);
  }
}

// As many rows at a time as fit in the cache in both orders.
void add_transposed_product(View<const float, 2> a, View<const float, 2> b, View<float, 2> to, ThreadPool& pool) {
  constexpr std::int64_t kStretchFloats = std::int64_t{512} << 10;
  const std::int64_t depths = kStretchFloats / (a.shape[1] + b.shape[1]) / kernels::kDepth;
  const std::int64_t step = std::clamp<std::int64_t>(depths, 1, 8) * kernels::kDepth;
  for (std::int64_t first = 0; first < a.shape[0]; first += step) {
    const std::int64_t count = std::min(step, a.shape[0] - first);
    float* const scratch = reserve_scratch(Use::panels, panel_floats(step, b.shape[1]));
    kernels::Product p = pack_panels(rows_of(b, first, count), {}, true, scratch, pool).times(a.shape[1], to);
    p.add = {to.data, to.strides[0]};
    run_products({&p, 1}, {rows_of(a, first, count), true}, pool);
  }
}

}  // namespace attn::nn
