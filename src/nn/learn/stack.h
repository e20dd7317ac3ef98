// nn/learn/stack.h - an encoder or a decoder: embeddings, blocks, perhaps a last norm; and the two together.
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

// x = drop(norm(word_scale * words[id] + positions[first + i] + types[type])); what is empty is left out.
struct EmbeddingWeights {
  Learned<2> words;                 // [vocabulary, width]
  Learned<2> positions;             // [first_position + most tokens, width]
  View<const float, 2> fixed = {};  // positions that are not learned, in their place: see sinusoidal()
  Learned<2> types;                 // [types, width]
  std::optional<Norm> norm;
  std::int64_t first_position = 0;
  float word_scale = 1;
  float dropout = 0;
};

// sin and cos of position / 10000^(2 i / width), side by side (Vaswani et al., 2017): [positions, width].
Matrix sinusoidal(std::int64_t positions, std::int64_t width);

// Sequences one behind the other. Spans must live until backward().
struct Tokens {
  std::span<const std::int32_t> ids;
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> types = {};  // empty: all 0
};

class Stack {
 public:
  // place: tells this stack's dropout from others'; blocks have theirs already.
  Stack(const EmbeddingWeights& embedding, std::vector<Block> blocks, const std::optional<Norm>& last,
        std::uint64_t place);

  // Hidden states [T, width] after the last layer, this stack's own until its next forward(). Throws
  // std::invalid_argument for an id or a position that the tables do not have.
  View<const float, 2> forward(const Tokens& tokens, const LearnPass& pass) { return forward(tokens, {}, {}, pass); }
  // The same for a decoder that reads the encoder's hidden states.
  View<const float, 2> forward(const Tokens& tokens, View<const float, 2> memory,
                               std::span<const std::int64_t> memory_starts, const LearnPass& pass);
  // Of the last forward(): dy is used up; d_memory is added to.
  void backward(View<float, 2> dy, View<float, 2> d_memory, const LearnPass& pass);

  [[nodiscard]] const std::vector<Block>& blocks() const noexcept { return blocks_; }

 private:
  View<const float, 2> embed_tokens(const Tokens& tokens, const LearnPass& pass);
  void embed_tokens_backward(View<float, 2> dy, const LearnPass& pass);
  void check(const Tokens& tokens) const;

  EmbeddingWeights embedding_;
  std::vector<Block> blocks_;
  std::optional<Norm> last_;
  std::uint64_t place_;
  Tokens tokens_;
  std::vector<std::int32_t> positions_;
  Buffer sum_, x_, y_;  // embeddings before and after their norm; after the last norm
  View<const float, 2> before_last_;
};

// The whole Transformer (Vaswani et al.: Attention Is All You Need, 2017): an encoder reads, a decoder writes and looks
// across at what was read.
class Transformer {
 public:
  Transformer(Stack encoder, Stack decoder, Dense head)
      : encoder_(std::move(encoder)), decoder_(std::move(decoder)), head_(head) {}

  // The loss of saying labels[i] behind target.ids[i]; with `learn`, gradients of its mean are added.
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
