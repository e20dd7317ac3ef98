#include "nn/learn/block.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "engine/runtime/copy_bytes.h"
#include "nn/infer/split.h"
#include "nn/learn/dropout.h"

namespace attn::nn {
namespace {

constexpr std::uint64_t kPlaces = 8;  // dropout sites per block: its parts, and the weights of its attentions

void copy(View<const float, 2> from, View<float, 2> to, ThreadPool& pool) {
  split_rows(from.shape[0], from.shape[1], pool, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      copy_bytes(to.at(i), from.at(i), static_cast<std::size_t>(from.shape[1]) * sizeof(float));
    }
  });
}

void add_to(View<float, 2> y, View<const float, 2> x, ThreadPool& pool) {
  split_rows(y.shape[0], y.shape[1], pool, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      float* const to = y.at(i);
      const float* const from = x.at(i);
      for (std::int64_t j = 0; j < y.shape[1]; ++j) to[j] += from[j];
    }
  });
}

AttentionConfig at_place(AttentionConfig config, std::uint64_t place) {
  config.place = place;
  return config;
}

}  // namespace

FeedForward::FeedForward(const FeedForwardWeights& weights, Activation activation)
    : weights_(weights), activation_(activation) {
  const std::int64_t inner = weights.up.outputs();
  const bool gate_fits =
      !weights.gate || (weights.gate->inputs() == weights.up.inputs() && weights.gate->outputs() == inner);
  if (weights.down.inputs() == inner && gate_fits) return;
  throw std::invalid_argument("FeedForward: up has " + std::to_string(inner) + " outputs, down has " +
                              std::to_string(weights.down.inputs()) +
                              (gate_fits ? " inputs" : " inputs, and the gate is not shaped like up"));
}

void FeedForward::forward(View<const float, 2> x, View<const float, 2> add, View<float, 2> y, const LearnPass& pass) {
  x_ = x;
  const std::int64_t rows = x.shape[0], inner = weights_.up.outputs();
  const View<float, 2> up = up_.take(rows, inner);
  const View<float, 2> wide = pass.scratch.wide.take(rows, inner);
  if (weights_.gate) {
    const View<float, 2> gate = gate_.take(rows, inner);
    const Dense layers[] = {*weights_.gate, weights_.up};
    const View<float, 2> to[] = {gate, up};
    dense(layers, x, to, pass.pool);
    copy(gate, wide, pass.pool);
    activate_gate(wide, up, activation_, pass.pool);
  } else {
    dense(weights_.up, x, up, pass.pool);
    activate(up, activation_, wide, pass.pool);
  }
  dense(weights_.down, wide, y, pass.pool, {.add = add});
}

// Recomputes the output of the activation, which is cheaper than keeping it.
void FeedForward::backward(View<const float, 2> dy, View<const float, 2> add, View<float, 2> dx,
                           const LearnPass& pass) {
  const View<float, 2> up = up_.view();
  const View<float, 2> wide = pass.scratch.wide.take(up.shape[0], up.shape[1]);
  const View<float, 2> d_wide = pass.scratch.d_wide.take(up.shape[0], up.shape[1]);
  if (weights_.gate) {
    copy(gate_.view(), wide, pass.pool);
    activate_gate(wide, up, activation_, pass.pool);
    dense_backward(weights_.down, wide, dy, d_wide, pass.pool);
    const View<float, 2> d_up = pass.scratch.d_up.take(up.shape[0], up.shape[1]);
    activate_gate_backward(gate_.view(), up, activation_, d_wide, d_up, pass.pool);
    const Dense layers[] = {*weights_.gate, weights_.up};
    const View<const float, 2> dys[] = {d_wide, d_up};
    dense_backward(layers, {.x = x_, .dys = dys, .dx = dx, .add = add}, pass.pool);
    return;
  }
  activate(up, activation_, wide, pass.pool);
  dense_backward(weights_.down, wide, dy, d_wide, pass.pool);
  activate_backward(up, activation_, d_wide, pass.pool);
  const View<const float, 2> dys[] = {d_wide};
  dense_backward(std::span(&weights_.up, 1), {.x = x_, .dys = dys, .dx = dx, .add = add}, pass.pool);
}

TransformerBlock::TransformerBlock(BlockConfig config, const BlockWeights& weights)
    : config_(std::move(config)),
      self_part_{.norm = weights.self_norm, .place = config_.place * kPlaces, .x = {}, .kept = {}, .y = {}},
      cross_part_{.norm = weights.cross_norm, .place = config_.place * kPlaces + 1, .x = {}, .kept = {}, .y = {}},
      feed_part_{.norm = weights.feed_norm, .place = config_.place * kPlaces + 2, .x = {}, .kept = {}, .y = {}},
      self_(at_place(config_.self, config_.place * kPlaces + 3), weights.self),
      feed_(weights.feed, config_.activation) {
  if (weights.cross) cross_.emplace(at_place(config_.cross, config_.place * kPlaces + 4), *weights.cross);
}

// f(in, add, y): y = f(in) + add.
template <typename F>
View<const float, 2> TransformerBlock::forward_part(Part& part, View<const float, 2> x, const LearnPass& pass,
                                                    const F& f) {
  part.x = x;
  const std::int64_t rows = x.shape[0], width = x.shape[1];
  const View<float, 2> kept = part.kept.take(rows, width);
  const View<float, 2> y = part.y.take(rows, width);
  const View<float, 2> sum = config_.norm_first ? y : kept;
  View<const float, 2> in = x;
  if (config_.norm_first) {
    norm(part.norm, x, kept, pass.pool);
    in = kept;
  }
  const Dropout dropout = pass.row_dropout(config_.dropout, part.place);
  if (dropout.rate > 0) {
    f(in, View<const float, 2>{}, sum);
    drop(sum, dropout, pass.pool);
    add_to(sum, x, pass.pool);
  } else {
    f(in, x, sum);
  }
  if (!config_.norm_first) norm(part.norm, kept, y, pass.pool);
  return y;
}

// f(dy, add, dx): dx = f's gradient + add.
template <typename F>
void TransformerBlock::backward_part(const Part& part, View<float, 2> dy, const LearnPass& pass, const F& f) {
  if (!config_.norm_first) norm_backward(part.norm, {.x = part.kept.view(), .dy = dy, .dx = dy}, pass.pool);
  const Dropout dropout = pass.row_dropout(config_.dropout, part.place);
  const View<float, 2> dx = pass.scratch.rows.take(dy.shape[0], dy.shape[1]);
  View<float, 2> given = dy;
  if (dropout.rate > 0) {
    given = pass.scratch.d_rows.take(dy.shape[0], dy.shape[1]);
    copy(dy, given, pass.pool);
    drop(given, dropout, pass.pool);
  }
  if (config_.norm_first) {
    f(View<const float, 2>(given), View<const float, 2>{}, dx);
    norm_backward(part.norm, {.x = part.x, .dy = dx, .dx = dy, .add = true}, pass.pool);
  } else {
    f(View<const float, 2>(given), View<const float, 2>(dy), dx);
    copy(dx, dy, pass.pool);
  }
}

View<const float, 2> TransformerBlock::forward(const BlockIn& in, const LearnPass& pass) {
  View<const float, 2> x = forward_part(self_part_, in.x, pass, [&](auto part_in, auto add, auto y) {
    self_.forward({part_in, part_in, {in.starts, in.starts}}, add, y, pass);
  });
  if (cross_) {
    x = forward_part(cross_part_, x, pass, [&](auto part_in, auto add, auto y) {
      cross_->forward({part_in, in.memory, {in.starts, in.memory_starts}}, add, y, pass);
    });
  }
  return forward_part(feed_part_, x, pass,
                      [&](auto part_in, auto add, auto y) { feed_.forward(part_in, add, y, pass); });
}

void TransformerBlock::backward(View<float, 2> dy, View<float, 2> d_memory, const LearnPass& pass) {
  backward_part(feed_part_, dy, pass, [&](auto given, auto add, auto dx) { feed_.backward(given, add, dx, pass); });
  if (cross_) {
    backward_part(cross_part_, dy, pass,
                  [&](auto given, auto add, auto dx) { cross_->backward({given, add, dx, d_memory}, pass); });
  }
  backward_part(self_part_, dy, pass,
                [&](auto given, auto add, auto dx) { self_.backward({given, add, dx, {}}, pass); });
}

}  // namespace attn::nn
