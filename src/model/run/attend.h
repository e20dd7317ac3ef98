// model/run/attend.h - the one place where models call the engine; handles recording, packed sequences and caches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attn/attention.h"
#include "attn/view.h"
#include "model/recording/attention_log.h"
#include "model/run/model.h"
#include "nn/infer/matrix.h"

namespace attn::model {

// Runs the attentions of one kind in one pass, layer by layer. Owns the buffers that the layers share.
//
//   Attend attend(Kind::self, shape, rule, batch, pass);
//   for (layer ...) {
//     const Attend::Rows rows = attend.rows(layer, x);  // where the projections go: scratch, or the recording
//     qkv(x, {rows.q, rows.k, rows.v}, pool);           // rotary positions are applied to rows.q and rows.k here
//     attend.mix(layer, mixed.view());                  // mixed [T, H D] = softmax(q k^T) v
//   }
class Attend {
 public:
  struct Rows {
    View<float, 2> q, k, v;  // [N, H D], [M, G D], [M, G D]
  };

  // Self-attention over the batch's sequences, continuing pass.cache if there is one.
  Attend(Kind kind, const HeadShape& shape, Rule rule, const Batch& batch, const Pass& pass);
  // Cross-attention from the batch's sequences to the sequences of pass.memory.
  static Attend cross(const HeadShape& shape, Rule rule, const Batch& batch, const Pass& pass);

  // Buffers for this pass's projections; x is the input of the query projection. For cross-attention with a cache, k
  // and v are empty from the second pass on: the cache has them.
  Rows rows(std::int64_t layer, View<const float, 2> x);
  // out [N, H D], computed from the contents of rows(layer).
  void mix(std::int64_t layer, View<float, 2> out);

  // Position of each row of the batch in its sequence, including the cache and other ranks: [T].
  [[nodiscard]] std::span<const std::int64_t> positions() const noexcept { return positions_; }
  // Number of tokens of a sequence so far, counted likewise.
  [[nodiscard]] std::int64_t length(std::size_t sequence) const noexcept;

 private:
  struct Keys {
    AnyView<4> k, v;  // [1, G, M, D]
  };
  struct Tag {};
  Attend(Tag, Kind kind, const HeadShape& shape, Rule rule, const Pass& pass);

  [[nodiscard]] std::int64_t queries() const noexcept { return query_starts_.back(); }
  [[nodiscard]] std::int64_t new_keys() const noexcept;
  [[nodiscard]] Keys keys(std::int64_t layer);
  [[nodiscard]] bool spread() const noexcept { return pass_.whole != nullptr; }
  [[nodiscard]] Options options(std::int64_t longest_query, std::int64_t longest_key);
  void find_positions();
  void take_besides();
  void begin_log();
  void switch_off(std::int64_t layer, const View<float, 2>& out) const;

  Kind kind_;
  HeadShape shape_;
  Rule rule_;
  Pass pass_;
  std::vector<std::int64_t> query_starts_, key_starts_, positions_;  // starts are those of this rank's rows
  Shape<2> whole_{};                  // queries and keys of all ranks, if the pass is distributed
  std::int64_t seen_ = 0;             // tokens before this pass
  Rows rows_;                         // of the current layer
  View<float, 3> lse_;                // [1, H, N] in the recording; empty: not recorded
  nn::Matrix q_, k_, v_;              // scratch, when nothing is recorded
  std::optional<DistanceBias> bias_;  // of the rule's buckets, for this pass; computed once
};

}  // namespace attn::model
