#include "nn/learn/attention_layer.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/backward.h"
#include "nn/infer/split.h"

namespace attn::nn {
namespace {

void check_shape(const char* name, const Dense& layer, std::int64_t inputs, std::int64_t outputs) {
  if (layer.inputs() == inputs && layer.outputs() == outputs) return;
  throw std::invalid_argument("MultiHeadAttention: " + std::string(name) + " leads from " +
                              std::to_string(layer.inputs()) + " to " + std::to_string(layer.outputs()) +
                              " numbers; it must lead from " + std::to_string(inputs) + " to " +
                              std::to_string(outputs));
}

}  // namespace

std::int64_t AttentionConfig::head_width() const {
  if (heads < 1 || width < 1 || width % heads != 0) {
    throw std::invalid_argument("a width of " + std::to_string(width) + " is not divisible by " +
                                std::to_string(heads) + " heads");
  }
  if (key_heads < 0 || (key_heads > 0 && heads % key_heads != 0)) {
    throw std::invalid_argument(std::to_string(heads) + " heads cannot share " + std::to_string(key_heads) +
                                " key heads evenly");
  }
  return width / heads;
}

AttentionWeights add_attention(Parameters& parameters, const std::string& name, const AttentionConfig& config,
                               std::int64_t memory_width, std::int64_t distances) {
  const std::int64_t d = config.head_width();
  const std::int64_t keys = d * (config.key_heads == 0 ? config.heads : config.key_heads);
  const auto dense_of = [&](const char* part, std::int64_t in, std::int64_t out) {
    return Dense{.w = parameters.matrix(name + part + ".weight", out, in),
                 .b = parameters.vector(name + part + ".bias", out)};
  };
  if (memory_width == 0) memory_width = config.width;
  AttentionWeights weights{.q = dense_of("q", config.width, config.width),
                           .k = dense_of("k", memory_width, keys),
                           .v = dense_of("v", memory_width, keys),
                           .out = dense_of("out", config.width, config.width),
                           .relation = {}};
  if (distances > 0) weights.relation = parameters.matrix(name + "relation", distances, config.heads, false);
  return weights;
}

MultiHeadAttention::MultiHeadAttention(AttentionConfig config, const AttentionWeights& weights)
    : config_(std::move(config)), weights_(weights), width_(config_.head_width()) {
  key_heads_ = config_.key_heads == 0 ? config_.heads : config_.key_heads;
  check_shape("q", weights_.q, config_.width, config_.width);
  check_shape("k", weights_.k, weights_.k.inputs(), key_heads_ * width_);
  check_shape("v", weights_.v, weights_.k.inputs(), key_heads_ * width_);
  check_shape("out", weights_.out, config_.width, config_.width);
  const bool learned = config_.relation == Relation::relative || config_.relation == Relation::buckets;
  if (learned != has_learned_relation()) {
    throw std::invalid_argument(learned ? "MultiHeadAttention: learned distances need a table"
                                        : "MultiHeadAttention: a table of distances that nothing asks for");
  }
  if (learned && weights_.relation.value.shape[1] != config_.heads) {
    throw std::invalid_argument("MultiHeadAttention: a table of distances for " +
                                std::to_string(weights_.relation.value.shape[1]) + " heads; there are " +
                                std::to_string(config_.heads));
  }
  if (config_.relation == Relation::rope && 2 * std::ssize(config_.rope.frequencies) > width_) {
    throw std::invalid_argument("MultiHeadAttention: " + std::to_string(config_.rope.frequencies.size()) +
                                " pairs to turn in a head of " + std::to_string(width_) + " numbers");
  }
}

Inputs MultiHeadAttention::inputs() const {
  return {by_head(q_.view(), config_.heads, width_), by_head(k_.view(), key_heads_, width_),
          by_head(v_.view(), key_heads_, width_)};
}

Options MultiHeadAttention::options(const LearnPass* pass) const {
  Options options;
  options.mask = config_.mask;
  options.scale = config_.scale;
  options.softcap = config_.softcap;
  if (bias_) options.bias = bias_->view();
  if (pass != nullptr) options.dropout = pass->dropout(config_.dropout, config_.place);
  return options;
}

// Updates what depends on positions: after a change of the sequences or a training step on the table.
void MultiHeadAttention::take_positions(const In& in) {
  in_ = in;
  query_starts_.assign(in.packing.queries.begin(), in.packing.queries.end());
  key_starts_.assign(in.packing.keys.begin(), in.packing.keys.end());
  in_.packing = {query_starts_, key_starts_};
  if (config_.relation == Relation::none) return;
  if (config_.relation == Relation::rope) {
    if (turns_ != nullptr && turned_starts_ == query_starts_) return;
    turned_starts_ = query_starts_;
    turns_ = std::make_unique<RopeTable>(in.x.shape[0], std::ssize(config_.rope.frequencies));
    for (std::size_t s = 0; s + 1 < query_starts_.size(); ++s) {
      std::vector<std::int64_t> positions(static_cast<std::size_t>(query_starts_[s + 1] - query_starts_[s]));
      for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
      turns_->fill(query_starts_[s], positions, config_.rope);
    }
    return;
  }
  const attn::Positions positions{.queries = longest(query_starts_), .keys = longest(key_starts_)};
  if (config_.relation == Relation::alibi) bias_ = alibi(config_.heads, positions);
  if (config_.relation == Relation::relative) bias_ = clamped_relative(weights_.relation.value, positions);
  if (config_.relation == Relation::buckets) bias_ = t5_bias(weights_.relation.value, positions, config_.bucketing);
}

void MultiHeadAttention::forward(const In& in, View<const float, 2> add, View<float, 2> y, const LearnPass& pass) {
  if (config_.relation == Relation::rope && in.memory.data != in.x.data)
    throw std::invalid_argument("MultiHeadAttention: rotary positions of two texts cannot be compared");
  const std::int64_t n = in.x.shape[0], m = in.memory.shape[0];
  take_positions(in);
  const View<float, 2> q = q_.take(n, config_.heads * width_);
  const View<float, 2> k = k_.take(m, key_heads_ * width_);
  const View<float, 2> v = v_.take(m, key_heads_ * width_);
  if (in.x.data == in.memory.data) {
    const Dense layers[] = {weights_.q, weights_.k, weights_.v};
    const View<float, 2> to[] = {q, k, v};
    dense(layers, in.x, to, pass.pool);
  } else {
    dense(weights_.q, in.x, q, pass.pool);
    const Dense layers[] = {weights_.k, weights_.v};
    const View<float, 2> to[] = {k, v};
    dense(layers, in.memory, to, pass.pool);
  }
  if (turns_ != nullptr) {
    turns_->turn(q, config_.heads, pass.pool);
    turns_->turn(k, key_heads_, pass.pool);
  }
  const View<float, 2> mixed = mixed_.take(n, config_.heads * width_);
  const View<float, 2> lse = lse_.take(config_.heads, n);
  attention(inputs(), options(&pass), in_.packing, by_head(mixed, config_.heads, width_),
            {lse.data, {1, config_.heads, n}}, pass.pool);
  dense(weights_.out, mixed, y, pass.pool, {.add = add});
}

// Adds the gradient of each bias to the row of the table that it was read from.
void MultiHeadAttention::add_relation_gradient(const DistanceBias& bias, View<const float, 2> d_bias) const {
  const std::int64_t rows = weights_.relation.value.shape[0];
  for (std::int64_t x = 0; x < d_bias.shape[1]; ++x) {
    const std::int64_t distance = bias.distance(x);
    const std::int64_t row = config_.relation == Relation::buckets
                                 ? t5_bucket(distance, config_.bucketing)
                                 : std::clamp(distance + rows / 2, std::int64_t{0}, rows - 1);
    for (std::int64_t h = 0; h < config_.heads; ++h) weights_.relation.gradient(row, h) += d_bias(h, x);
  }
}

void MultiHeadAttention::backward(const Back& back, const LearnPass& pass) {
  const std::int64_t n = q_.view().shape[0], m = k_.view().shape[0];
  Scratch& scratch = pass.scratch;
  const View<float, 2> d_mixed = scratch.d_mixed.take(n, config_.heads * width_);
  dense_backward(weights_.out, mixed_.view(), back.dy, d_mixed, pass.pool);

  const View<float, 2> dq = scratch.dq.take(n, config_.heads * width_);
  const View<float, 2> dk = scratch.dk.take(m, key_heads_ * width_);
  const View<float, 2> dv = scratch.dv.take(m, key_heads_ * width_);
  const Outputs outputs{by_head(View<const float, 2>(mixed_.view()), config_.heads, width_),
                        {lse_.view().data, {1, config_.heads, n}},
                        by_head(View<const float, 2>(d_mixed), config_.heads, width_)};
  Gradients gradients{.dq = by_head(dq, config_.heads, width_),
                      .dk = by_head(dk, key_heads_, width_),
                      .dv = by_head(dv, key_heads_, width_),
                      .d_bias = {},
                      .d_sink = {}};
  Matrix d_bias;
  if (has_learned_relation() && bias_) {
    d_bias = Matrix(config_.heads, bias_->view().shape[1]);
    gradients.d_bias = d_bias.view();
  }
  attention_backward(inputs(), options(&pass), in_.packing, outputs, gradients, pass.pool);
  if (has_learned_relation() && bias_) add_relation_gradient(*bias_, d_bias.view());
  if (turns_ != nullptr) {
    turns_->turn_back(dq, config_.heads, pass.pool);
    turns_->turn_back(dk, key_heads_, pass.pool);
  }

  if (in_.x.data == in_.memory.data) {
    const Dense layers[] = {weights_.q, weights_.k, weights_.v};
    const View<const float, 2> dys[] = {dq, dk, dv};
    dense_backward(layers, {.x = in_.x, .dys = dys, .dx = back.dx, .add = back.add}, pass.pool);
    return;
  }
  const View<const float, 2> of_q[] = {dq};
  dense_backward(std::span(&weights_.q, 1), {.x = in_.x, .dys = of_q, .dx = back.dx, .add = back.add}, pass.pool);
  const Dense layers[] = {weights_.k, weights_.v};
  const View<const float, 2> dys[] = {dk, dv};
  dense_backward(layers, {.x = in_.memory, .dys = dys, .dx = back.d_memory, .add = back.d_memory}, pass.pool);
}

void MultiHeadAttention::weights(std::int64_t sequence, View<float, 3> to, ThreadPool& pool) const {
  const auto s = static_cast<std::size_t>(sequence);
  const std::int64_t first = query_starts_.at(s), n = query_starts_.at(s + 1) - first;
  const std::int64_t first_key = key_starts_.at(s), m = key_starts_.at(s + 1) - first_key;
  if (to.shape != Shape<3>{config_.heads, n, m}) {
    throw std::invalid_argument("MultiHeadAttention: weights of " + std::to_string(config_.heads) + " x " +
                                std::to_string(n) + " x " + std::to_string(m) + " numbers asked for as " +
                                std::to_string(to.shape[0]) + " x " + std::to_string(to.shape[1]) + " x " +
                                std::to_string(to.shape[2]));
  }
  const View<const float, 2> k = rows_of(k_.view(), first_key, m);
  const Inputs in{by_head(rows_of(q_.view(), first, n), config_.heads, width_), by_head(k, key_heads_, width_), {}};
  const View<const float, 3> lse{lse_.view().data + first, {1, config_.heads, n}, {0, lse_.view().strides[0], 1}};
  Options all = options(nullptr);
  if (bias_) {  // the part of the longest sequence's table for this one
    const std::int64_t skipped = longest(query_starts_) - n;
    all.bias = {bias_->view().data + skipped, {config_.heads, n + m - 1}, {bias_->view().shape[1], 1}};
  }
  attn::weights(in, all, lse, {}, {to.data, {1, to.shape[0], n, m}, {0, to.strides[0], to.strides[1], 1}}, pool);
}

}  // namespace attn::nn
