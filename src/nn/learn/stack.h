// nn/learn/stack.h - an encoder or a decoder: embeddings, blocks, an optional last norm; and the two together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nn/infer/norm.h"
#include "nn/learn/block.h"
#include "nn/learn/loss.h"
#include "nn/learn/parameters.h"
#include "nn/learn/pass.h"

namespace attn::nn {

// x = drop(norm(word_scale * words[id] + positions[first + i] + types[type])); empty members are left out.
struct EmbeddingWeights {
  Learned<2> words;                 // [vocabulary, width]
  Learned<2> positions;             // [first_position + longest sequence, width]
  View<const float, 2> fixed = {};  // fixed positions instead of learned ones: see sinusoidal()
  Learned<2> types;                 // [types, width]
  std::optional<Norm> norm;
  std::int64_t first_position = 0;
  float word_scale = 1;
  float dropout = 0;
};

// sin and cos of position / 10000^(2 i / width), interleaved (Vaswani et al., 2017): [positions, width].
Matrix sinusoidal(std::int64_t positions, std::int64_t width);

// Concatenated sequences. The spans must live until backward().
struct Tokens {
  std::span<const std::int32_t> ids;
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> types = {};  // empty: all 0
};

class Stack {
 public:
  // place: distinguishes the dropout of this stack from that of others; blocks have their own.
  Stack(const EmbeddingWeights& embedding, std::vector<TransformerBlock> blocks, const std::optional<Norm>& last,
        std::uint64_t place);

  // Hidden states [T, width] after the last layer. They belong to this stack and are valid until its next forward().
  // Throws std::invalid_argument for an id or a position outside the tables.
  View<const float, 2> forward(const Tokens& tokens, const LearnPass& pass) { return forward(tokens, {}, {}, pass); }
  // The same for a decoder with the encoder's hidden states as memory.
  View<const float, 2> forward(const Tokens& tokens, View<const float, 2> memory,
                               std::span<const std::int64_t> memory_starts, const LearnPass& pass);
  // The gradients of the last forward(): overwrites dy and adds to d_memory.
  void backward(View<float, 2> dy, View<float, 2> d_memory, const LearnPass& pass);

  [[nodiscard]] const std::vector<TransformerBlock>& blocks() const noexcept { return blocks_; }

 private:
  View<const float, 2> embed_tokens(const Tokens& tokens, const LearnPass& pass);
  void embed_tokens_backward(View<float, 2> dy, const LearnPass& pass);
  void check(const Tokens& tokens) const;

  EmbeddingWeights embedding_;
  std::vector<TransformerBlock> blocks_;
  std::optional<Norm> last_;
  std::uint64_t place_;
  Tokens tokens_;
  std::vector<std::int32_t> positions_;
  Buffer sum_, x_, y_;  // embeddings before and after their norm; after the last norm
  View<const float, 2> before_last_;
};

// The whole Transformer (Vaswani et al.: Attention Is All You Need, 2017): a decoder with cross-attention to an
// encoder.
class Transformer {
 public:
  Transformer(Stack encoder, Stack decoder, Dense head)
      : encoder_(std::move(encoder)), decoder_(std::move(decoder)), head_(head) {}

  // The loss of predicting labels[i] after target.ids[i]. If `learn`, adds the gradients of its mean.
  Loss run(const Tokens& source, const Tokens& target, std::span<const std::int32_t> labels, bool learn,
           const LearnPass& pass);

  [[nodiscard]] const Stack& encoder() const noexcept { return encoder_; }
  [[nodiscard]] const Stack& decoder() const noexcept { return decoder_; }

 private:
  Stack encoder_, decoder_;
  Dense head_;
  Buffer d_hidden_, d_memory_;
};

}  // namespace attn::nn
