#include "nn/learn/stack.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "nn/infer/embedding.h"
#include "nn/infer/split.h"
#include "nn/learn/dropout.h"

namespace attn::nn {
namespace {

constexpr std::uint64_t kOwnPlaces = std::uint64_t{1} << 32;  // after the places of all blocks

void scale(View<float, 2> x, float factor) {
  if (factor == 1) return;
  for (std::int64_t i = 0; i < x.shape[0]; ++i)
    for (std::int64_t j = 0; j < x.shape[1]; ++j) x(i, j) *= factor;
}

void check_ids(std::span<const std::int32_t> ids, std::int64_t rows, const char* what) {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < rows) continue;
    throw std::invalid_argument(std::string(what) + " " + std::to_string(id) + " is not one of the " +
                                std::to_string(rows) + " that there are");
  }
}

}  // namespace

Matrix sinusoidal(std::int64_t positions, std::int64_t width) {
  Matrix table(positions, width);
  for (std::int64_t p = 0; p < positions; ++p) {
    for (std::int64_t j = 0; j < width; ++j) {
      const std::int64_t pair = j - j % 2;
      const double period = std::pow(10000.0, static_cast<double>(pair) / static_cast<double>(width));
      const double angle = static_cast<double>(p) / period;
      table.row(p)[j] = static_cast<float>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

Stack::Stack(const EmbeddingWeights& embedding, std::vector<TransformerBlock> blocks, const std::optional<Norm>& last,
             std::uint64_t place)
    : embedding_(embedding), blocks_(std::move(blocks)), last_(last), place_(kOwnPlaces + place) {}

void Stack::check(const Tokens& tokens) const {
  check_ids(tokens.ids, embedding_.words.value.shape[0], "token");
  if (!tokens.types.empty()) check_ids(tokens.types, embedding_.types.value.shape[0], "token type");
  const std::int64_t table = embedding_.fixed.empty() ? embedding_.positions.value.shape[0] : embedding_.fixed.shape[0];
  const std::int64_t most = table - embedding_.first_position;
  for (std::size_t s = 0; s + 1 < tokens.starts.size() && table > 0; ++s) {
    const std::int64_t length = tokens.starts[s + 1] - tokens.starts[s];
    if (length <= most) continue;
    throw std::invalid_argument("a sequence of " + std::to_string(length) + " tokens; there are positions for " +
                                std::to_string(most));
  }
}

View<const float, 2> Stack::embed_tokens(const Tokens& tokens, const LearnPass& pass) {
  check(tokens);
  tokens_ = tokens;
  positions_.resize(tokens.ids.size());
  for (std::size_t s = 0; s + 1 < tokens.starts.size(); ++s) {
    for (std::int64_t i = tokens.starts[s]; i < tokens.starts[s + 1]; ++i) {
      positions_[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(i - tokens.starts[s] + embedding_.first_position);
    }
  }
  const auto rows = std::ssize(tokens.ids);
  const std::int64_t width = embedding_.words.value.shape[1];
  View<float, 2> x = sum_.take(rows, width);
  embed(embedding_.words.value, tokens.ids, x);
  scale(x, embedding_.word_scale);
  if (!embedding_.fixed.empty()) {
    add_embedded(embedding_.fixed, positions_, x);
  } else if (!embedding_.positions.empty()) {
    add_embedded(embedding_.positions.value, positions_, x);
  }
  if (!embedding_.types.empty()) {
    if (tokens_.types.empty()) {
      const std::vector<std::int32_t> zeros(tokens.ids.size());
      add_embedded(embedding_.types.value, zeros, x);
    } else {
      add_embedded(embedding_.types.value, tokens_.types, x);
    }
  }
  if (embedding_.norm) {
    const View<float, 2> normed = x_.take(rows, width);
    norm(*embedding_.norm, x, normed, pass.pool);
    x = normed;
  }
  drop(x, pass.row_dropout(embedding_.dropout, place_), pass.pool);
  return x;
}

void Stack::embed_tokens_backward(View<float, 2> dy, const LearnPass& pass) {
  drop(dy, pass.row_dropout(embedding_.dropout, place_), pass.pool);
  if (embedding_.norm) norm_backward(*embedding_.norm, {.x = sum_.view(), .dy = dy, .dx = dy}, pass.pool);
  if (!embedding_.types.empty()) {
    const std::vector<std::int32_t> zeros(tokens_.types.empty() ? tokens_.ids.size() : 0);
    embed_backward(tokens_.types.empty() ? std::span<const std::int32_t>(zeros) : tokens_.types, dy,
                   embedding_.types.gradient, pass.pool);
  }
  if (embedding_.fixed.empty() && !embedding_.positions.empty()) {
    embed_backward(positions_, dy, embedding_.positions.gradient, pass.pool);
  }
  scale(dy, embedding_.word_scale);
  embed_backward(tokens_.ids, dy, embedding_.words.gradient, pass.pool);
}

View<const float, 2> Stack::forward(const Tokens& tokens, View<const float, 2> memory,
                                    std::span<const std::int64_t> memory_starts, const LearnPass& pass) {
  View<const float, 2> x = embed_tokens(tokens, pass);
  for (TransformerBlock& block : blocks_) x = block.forward({x, tokens.starts, memory, memory_starts}, pass);
  if (!last_) return x;
  before_last_ = x;
  const View<float, 2> y = y_.take(x.shape[0], x.shape[1]);
  norm(*last_, x, y, pass.pool);
  return y;
}

void Stack::backward(View<float, 2> dy, View<float, 2> d_memory, const LearnPass& pass) {
  if (last_) norm_backward(*last_, {.x = before_last_, .dy = dy, .dx = dy}, pass.pool);
  for (std::size_t i = blocks_.size(); i-- > 0;) blocks_[i].backward(dy, d_memory, pass);
  embed_tokens_backward(dy, pass);
}

Loss Transformer::run(const Tokens& source, const Tokens& target, std::span<const std::int32_t> labels, bool learn,
                      const LearnPass& pass) {
  LearnPass recording = pass;
  recording.part.first_row = pass.part.first_source_row;
  const View<const float, 2> memory = encoder_.forward(source, recording);
  const View<const float, 2> hidden = decoder_.forward(target, memory, source.starts, pass);
  if (!learn) return head_loss(head_, {.x = hidden, .labels = labels, .weight = 1, .dx = {}}, pass.pool);
  const View<float, 2> d_hidden = d_hidden_.take(hidden.shape[0], hidden.shape[1]);
  const float weight = mean_weight(labels, pass.part.labels);
  const Loss loss = head_loss(head_, {.x = hidden, .labels = labels, .weight = weight, .dx = d_hidden}, pass.pool);
  const View<float, 2> d_memory = d_memory_.take(memory.shape[0], memory.shape[1]);
  std::fill_n(d_memory.data, d_memory.size(), 0.0F);
  decoder_.backward(d_hidden, d_memory, pass);
  encoder_.backward(d_memory, {}, recording);
  return loss;
}

}  // namespace attn::nn
