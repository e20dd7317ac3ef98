// nn/learn/block.h - the Transformer block: attention, optional cross-attention and feed-forward, each with a residual
// connection and a norm before it (GPT-2, Llama) or after it (the original, BERT, BART).
//
//   norm first:  y = x + f(norm(x))          norm last:  y = norm(x + f(x))
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nn/infer/activation.h"
#include "nn/infer/norm.h"
#include "nn/learn/attention_layer.h"
#include "nn/learn/dense.h"
#include "nn/learn/pass.h"

namespace attn::nn {

// y = down f(up x), or down (f(gate x) * up x).
struct FeedForwardWeights {
  Dense up, down;
  std::optional<Dense> gate;
};

class FeedForward {
 public:
  // Throws std::invalid_argument if shapes disagree.
  FeedForward(const FeedForwardWeights& weights, Activation activation);

  // y = feed-forward(x) + add. add may be empty or y itself. x must not change until backward().
  void forward(View<const float, 2> x, View<const float, 2> add, View<float, 2> y, const LearnPass& pass);
  // dx = gradient + add.
  void backward(View<const float, 2> dy, View<const float, 2> add, View<float, 2> dx, const LearnPass& pass);

 private:
  FeedForwardWeights weights_;
  Activation activation_;
  View<const float, 2> x_;
  Buffer up_, gate_;  // [T, inner] before the activation
};

struct BlockWeights {
  AttentionWeights self;
  std::optional<AttentionWeights> cross;  // for a decoder with an encoder
  FeedForwardWeights feed;
  Norm self_norm, cross_norm, feed_norm;
};

struct BlockConfig {
  AttentionConfig self, cross;
  Activation activation = Activation::gelu;
  bool norm_first = false;
  float dropout = 0;        // rate of dropout on the output of each part, before it is added
  std::uint64_t place = 0;  // distinguishes the dropout of this block and its attentions from that of others
};

// Concatenated sequences, and the memory for cross-attention.
struct BlockIn {
  View<const float, 2> x;                // [T, width]
  std::span<const std::int64_t> starts;  // of x
  View<const float, 2> memory = {};      // [S, width]; empty: no cross-attention
  std::span<const std::int64_t> memory_starts = {};
};

class TransformerBlock {
 public:
  TransformerBlock(BlockConfig config, const BlockWeights& weights);

  // The result belongs to this block and is valid until its next forward(). in.x must not change until backward().
  View<const float, 2> forward(const BlockIn& in, const LearnPass& pass);
  // The gradients of the last forward(): replaces dy by dx and adds to d_memory (empty: no memory).
  void backward(View<float, 2> dy, View<float, 2> d_memory, const LearnPass& pass);

  [[nodiscard]] const MultiHeadAttention& self() const noexcept { return self_; }
  [[nodiscard]] const MultiHeadAttention* cross() const noexcept { return cross_ ? &*cross_ : nullptr; }

 private:
  // One of the parts with its residual connection. kept: norm(x) if the norm comes first, x + f(x) if it comes last.
  struct Part {
    Norm norm;
    std::uint64_t place = 0;
    View<const float, 2> x;
    Buffer kept, y;
  };
  template <typename F>
  View<const float, 2> forward_part(Part& part, View<const float, 2> x, const LearnPass& pass, const F& f);
  template <typename F>
  void backward_part(const Part& part, View<float, 2> dy, const LearnPass& pass, const F& f);

  BlockConfig config_;
  Part self_part_, cross_part_, feed_part_;
  MultiHeadAttention self_;
  std::optional<MultiHeadAttention> cross_;
  FeedForward feed_;
};

}  // namespace attn::nn
