// nn/learn/attention_layer.h - attention with its projections, forward and backward.
//
//   y = W_o concat_h softmax(scale q_h k_h^T + bias) v_h      q = W_q x      k = W_k memory      v = W_v memory
//
// Weights are never stored: backward() rebuilds them from q, k and the log-sum-exp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attn/attention.h"
#include "attn/bias.h"
#include "attn/mask.h"
#include "nn/infer/rope.h"
#include "nn/learn/dense.h"
#include "nn/learn/parameters.h"
#include "nn/learn/pass.h"

namespace attn::nn {

// How an attention layer encodes positions, in addition to what x contains.
enum class Relation : std::uint8_t {
  none,
  rope,      // q and k are rotated
  alibi,     // -slope |i - j|
  relative,  // a learned number per head and distance from -R to R; larger distances are clamped
  buckets,   // a learned number per head and T5 bucket
};

struct AttentionConfig {
  std::int64_t width = 0;           // d_model
  std::int64_t heads = 1;           // H
  std::int64_t key_heads = 0;       // G; 0: as many as heads
  Mask mask = {};                   // in positions of a sequence
  std::optional<float> scale = {};  // default 1 / sqrt(D)
  float softcap = 0;                // 0: none
  Relation relation = Relation::none;
  Rope rope = {};            // Relation::rope
  T5Buckets bucketing = {};  // Relation::buckets
  float dropout = 0;         // rate of dropout on weights
  std::uint64_t place = 0;   // distinguishes the dropout of this layer from that of others

  // Throws std::invalid_argument if heads do not divide width, or key_heads do not divide heads; the message has both.
  [[nodiscard]] std::int64_t head_width() const;
};

// The parameters of the layer. Biases of the projections may be empty.
struct AttentionWeights {
  Dense q, k, v, out;        // [H D, width], [G D, memory width], [G D, memory width], [width, H D]
  Learned<2> relation = {};  // [2 R + 1, H] or [buckets, H]
};

// Registers them as "<name>q.weight", "<name>k.weight", "<name>v.weight", "<name>out.weight", their ".bias", and
// "<name>relation". memory_width 0: the same as width.
AttentionWeights add_attention(Parameters& parameters, const std::string& name, const AttentionConfig& config,
                               std::int64_t memory_width = 0, std::int64_t distances = 0);

// Sequences are concatenated (attn::Packing): x [T, width], memory [S, memory width].
class MultiHeadAttention {
 public:
  // Throws std::invalid_argument if the shape of a matrix does not match the configuration.
  MultiHeadAttention(AttentionConfig config, const AttentionWeights& weights);

  struct In {
    View<const float, 2> x, memory;
    Packing packing;
  };
  // y = attention(x, memory) + add. add may be empty or y itself. x and memory must not change until backward().
  void forward(const In& in, View<const float, 2> add, View<float, 2> y, const LearnPass& pass);

  // The gradients of the last forward(). Writes dx = gradient + add and adds to d_memory. If memory is x, d_memory is
  // empty and dx has both. Adds to the gradients of the parameters.
  struct Back {
    View<const float, 2> dy;
    View<const float, 2> add;  // empty: nothing; may be dx
    View<float, 2> dx;
    View<float, 2> d_memory;
  };
  void backward(const Back& back, const LearnPass& pass);

  // Rebuilds the weights of the last forward(): [H, N, M] of sequence s.
  void weights(std::int64_t sequence, View<float, 3> to, ThreadPool& pool) const;

  [[nodiscard]] const AttentionConfig& config() const noexcept { return config_; }

 private:
  [[nodiscard]] Inputs inputs() const;
  [[nodiscard]] Options options(const LearnPass* pass) const;
  void take_positions(const In& in);
  void add_relation_gradient(const DistanceBias& bias, View<const float, 2> d_bias) const;
  [[nodiscard]] bool has_learned_relation() const noexcept { return !weights_.relation.empty(); }

  AttentionConfig config_;
  AttentionWeights weights_;
  std::int64_t width_ = 0, key_heads_ = 0;  // D, G
  In in_;
  std::vector<std::int64_t> query_starts_, key_starts_;
  Buffer q_, k_, v_, mixed_;
  Buffer lse_;                        // [H, T]
  std::optional<DistanceBias> bias_;  // for the longest sequence
  std::unique_ptr<RopeTable> turns_;
  std::vector<std::int64_t> turned_starts_;
};

}  // namespace attn::nn
