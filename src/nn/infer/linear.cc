#include "nn/infer/linear.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/kernels/product/product.h"
#include "nn/infer/embedding.h"
#include "nn/infer/product.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kPartBytes = std::int64_t{16} << 20;  // bytes of panels between two calls of OnPacked

std::int64_t inputs_of(const Weight& w) { return w.matrix.shape[w.input_first ? 0 : 1]; }
std::int64_t outputs_of(const Weight& w) { return w.matrix.shape[w.input_first ? 1 : 0]; }

void check_weights(std::span<const Weight> weights) {
  if (weights.empty()) throw std::invalid_argument("Linear: no weights");
  for (const Weight& w : weights) {
    const std::string shape = shape_text(w.matrix.shape[0], w.matrix.shape[1]);
    if (w.matrix.empty() || w.matrix.shape[0] < 1 || w.matrix.shape[1] < 1) {
      throw std::invalid_argument("Linear: a matrix of " + shape + "; it must not be empty");
    }
    if (w.matrix.strides[1] != 1) {
      throw std::invalid_argument("Linear: the numbers of a row of a " + shape + " matrix must lie side by side");
    }
    if (inputs_of(w) != inputs_of(weights.front())) {
      throw std::invalid_argument("Linear: a matrix of " + shape + " for " + std::to_string(inputs_of(w)) +
                                  " inputs beside one for " + std::to_string(inputs_of(weights.front())));
    }
    if (!w.bias.empty() && w.bias.shape[0] != outputs_of(w)) {
      throw std::invalid_argument("Linear: " + std::to_string(w.bias.shape[0]) + " biases for " +
                                  std::to_string(outputs_of(w)) + " outputs");
    }
  }
}

// The common type of the matrices; float32 if they differ.
Type common_type(std::span<const Weight> weights) {
  const Type type = weights.front().matrix.type;
  const bool alike =
      std::all_of(weights.begin(), weights.end(), [&](const Weight& w) { return w.matrix.type == type; });
  return alike ? type : Type::float32;
}

std::int64_t panel_bytes(std::int64_t inputs, Type type) {
  return inputs * kernels::panel_columns() * static_cast<std::int64_t>(size_of(type));
}

kernels::Element element(Type type) { return static_cast<kernels::Element>(type); }

}  // namespace

struct Linear::Pending {
  std::vector<Weight> weights;
  OnPacked on_packed;
  std::atomic<bool> used = false;
  std::atomic<const std::byte*> ready = nullptr;
  std::once_flag packing;
  AlignedMemory panels;
};

Linear::Linear() noexcept = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

Linear::Linear(std::span<const Weight> weights, ThreadPool& pool) {
  lay_out(weights);
  panels_ = pack(weights, {}, pool);
}

Linear::Linear(std::span<const Weight> weights, OnPacked on_packed) : pending_(std::make_unique<Pending>()) {
  lay_out(weights);
  pending_->weights.assign(weights.begin(), weights.end());
  pending_->on_packed = std::move(on_packed);
}

void Linear::lay_out(std::span<const Weight> weights) {
  check_weights(weights);
  const std::int64_t columns = kernels::panel_columns();
  inputs_ = inputs_of(weights.front());
  type_ = common_type(weights);
  std::int64_t panels = 0;
  for (const Weight& w : weights) {
    Piece& piece = pieces_.emplace_back();
    piece.outputs = outputs_of(w);
    piece.first_panel = panels;
    panels += divide_up(piece.outputs, columns);
    if (w.bias.empty()) continue;
    piece.bias = as_floats(w.bias);
    piece.bias.resize(static_cast<std::size_t>(divide_up(piece.outputs, columns) * columns));
  }
}

namespace {

// Outputs [first, first + count) of a matrix.
Weight part_of(Weight w, std::int64_t first, std::int64_t count) {
  const std::int64_t skipped = w.input_first ? first : first * w.matrix.strides[0];
  w.matrix.data =
      static_cast<const std::byte*>(w.matrix.data) + skipped * static_cast<std::int64_t>(size_of(w.matrix.type));
  w.matrix.shape[w.input_first ? 1 : 0] = count;
  w.bias = {};
  return w;
}

}  // namespace

AlignedMemory Linear::pack(std::span<const Weight> weights, const OnPacked& on_packed, ThreadPool& pool) const {
  const std::int64_t columns = kernels::panel_columns();
  const std::int64_t bytes = panel_bytes(inputs_, type_);
  AlignedMemory memory((pieces_.back().first_panel + divide_up(pieces_.back().outputs, columns)) * bytes);
  for (std::size_t n = 0; n < weights.size(); ++n) {
    const Weight& w = weights[n];
    kernels::PackWeights task;
    task.matrix = {w.matrix.data, w.matrix.strides[0], element(w.matrix.type)};
    task.input_first = w.input_first;
    task.inputs = inputs_;
    task.outputs = pieces_[n].outputs;
    task.to = element(type_);
    task.panels = memory.data() + pieces_[n].first_panel * bytes;
    const std::int64_t count = divide_up(task.outputs, columns);
    const std::int64_t step = std::max(kPartBytes / bytes / kPackPanels, std::int64_t{1}) * kPackPanels;
    for (std::int64_t first = 0; first < count; first += step) {
      const std::int64_t end = std::min(first + step, count);
      pool.run(divide_up(end - first, kPackPanels), [&](std::int64_t t, int) {
        const std::int64_t panel = first + t * kPackPanels;
        kernels::pack_weights(task, panel, std::min(kPackPanels, end - panel));
      });
      const std::int64_t output = first * columns;
      if (on_packed) on_packed(part_of(w, output, std::min(end * columns, task.outputs) - output));
    }
  }
  return memory;
}

// The panels, or null: this call reads the matrices in place.
const std::byte* Linear::panels_for_call(ThreadPool& pool) const {
  if (!pending_) return panels_.data();
  if (const std::byte* ready = pending_->ready.load(std::memory_order_acquire)) return ready;
  if (!pending_->used.exchange(true)) return nullptr;
  std::call_once(pending_->packing, [&] {
    pending_->panels = pack(pending_->weights, pending_->on_packed, pool);
    pending_->ready.store(pending_->panels.data(), std::memory_order_release);
  });
  return pending_->ready.load(std::memory_order_acquire);
}

void Linear::operator()(View<const float, 2> x, std::span<const View<float, 2>> outs, ThreadPool& pool,
                        const After& after) const {
  if (x.shape[1] != inputs_ || outs.size() != pieces_.size()) {
    throw std::invalid_argument("Linear: x of " + shape_text(x.shape[0], x.shape[1]) + " for " +
                                std::to_string(outs.size()) + " results; there are " + std::to_string(inputs_) +
                                " inputs and " + std::to_string(pieces_.size()) + " matrices");
  }
  for (std::size_t n = 0; n < outs.size(); ++n) {
    if (outs[n].shape == Shape<2>{x.shape[0], pieces_[n].outputs}) continue;
    throw std::invalid_argument("Linear: a result of " + shape_text(outs[n].shape[0], outs[n].shape[1]) +
                                "; it must be " + shape_text(x.shape[0], pieces_[n].outputs));
  }
  if (!after.add.empty() && (outs.size() != 1 || after.add.shape != outs[0].shape)) {
    throw std::invalid_argument("Linear: " + shape_text(after.add.shape[0], after.add.shape[1]) + " to be added to " +
                                std::to_string(outs.size()) + " results; it takes one of that shape");
  }
  if (x.shape[0] == 0 || empty()) return;
  const std::byte* const panels = panels_for_call(pool);
  std::vector<kernels::Product> products(pieces_.size());
  for (std::size_t n = 0; n < products.size(); ++n) {
    const Piece& piece = pieces_[n];
    kernels::Product& p = products[n];
    p.rows = x.shape[0];
    p.inputs = inputs_;
    p.type = element(type_);
    if (panels != nullptr) {
      p.panels = panels + piece.first_panel * panel_bytes(inputs_, type_);
    } else {
      const Weight& w = pending_->weights[n];
      p.source = {w.matrix.data, w.matrix.strides[0], element(w.matrix.type)};
      p.input_first = w.input_first;
    }
    p.outputs = piece.outputs;
    p.bias = piece.bias.empty() ? nullptr : piece.bias.data();
    p.activation = static_cast<kernels::Activation>(after.activation);
    if (!after.add.empty()) p.add = {after.add.data, after.add.strides[0]};
    p.out = {outs[n].data, outs[n].strides[0]};
  }
  run_products(products, {x}, pool);
}

}  // namespace attn::nn
