// model/recording/attention_log.h - the attention of one pass through a model, stored so that every weight can be
// rebuilt exactly.
//
// Each attention keeps Q and K as they enter the product (after rotary positions, before the scale) and lse, one number
// per row: [N + M, H D] floats instead of [H, N, M].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attn/attention.h"
#include "attn/bias.h"
#include "nn/infer/matrix.h"

namespace attn::model {

// self: an encoder, or a decoder without an encoder. decoder: an encoder-decoder's decoder, over its own tokens. cross:
// that decoder, over the encoder's tokens.
enum class Kind : std::uint8_t { self, decoder, cross };
std::string_view name_of(Kind kind) noexcept;
std::optional<Kind> parse_kind(std::string_view name) noexcept;

// H query heads of width D share G key heads.
struct HeadShape {
  std::int64_t heads = 1, key_heads = 1, width = 64;

  [[nodiscard]] std::int64_t query_columns() const noexcept { return heads * width; }
  [[nodiscard]] std::int64_t key_columns() const noexcept { return key_heads * width; }
};

using nn::by_head;

// T5's bias: a learned number per bucket and head, the same in every layer.
struct BucketBias {
  nn::Matrix table;  // [buckets, H]
  T5Buckets rule;
};

// How products become scores. Positions are those of the whole text.
struct Rule {
  bool causal = false;
  // Causal: a query sees this many keys, itself included. Otherwise: keys up to this distance on both sides. 0: no
  // limit.
  std::int64_t window = 0;
  float scale = 1;
  std::shared_ptr<const BucketBias> bias = nullptr;  // null: none
  float softcap = 0;                                 // 0: none

  Mask also = {};  // an extra mask that must also hold; the same for every head

  // The following belong to one whole text, and to attentions added with insert().
  std::shared_ptr<const nn::Matrix> distance_bias = nullptr;  // [1|H, N + M - 1] at j - i + N - 1; null: none
  std::shared_ptr<const nn::Matrix> sink = nullptr;           // [1, H]: a logit per head that has no value; null: none

  // The mask for queries that are `seen` tokens behind the first key.
  [[nodiscard]] Mask mask(std::int64_t seen = 0) const;
};

// Throws std::invalid_argument if the mask cannot be Rule::also of such an attention: it does not fit, differs between
// heads or carries a bias.
void check_besides(const Mask& also, const Extent& extent);

// One attention of one layer. The sequences of a batch are concatenated.
struct AttentionRecord {
  Kind kind = Kind::self;
  std::int64_t layer = 0;
  HeadShape shape;
  Rule rule;
  std::int64_t queries = 0, keys = 0;  // rows in use
  nn::Matrix q;                        // [>= queries, H D]
  nn::Matrix k;                        // [>= keys, G D]
  nn::Matrix lse;                      // [H, >= queries]
  // Empty unless requested by Keep.
  nn::Matrix v;            // [>= keys, G D]
  nn::Matrix x;            // [>= queries, width]
  nn::Matrix value_norms;  // [H, keys]

  // [1, H|G, rows, D] views of rows [first, first + count).
  [[nodiscard]] View<const float, 4> q_heads(std::int64_t first, std::int64_t count) const noexcept;
  [[nodiscard]] View<const float, 4> k_heads(std::int64_t first, std::int64_t count) const noexcept;
  [[nodiscard]] View<const float, 3> lse_rows(std::int64_t first, std::int64_t count) const noexcept;
};

// What to record besides Q, K and lse.
struct Keep {
  bool attention = true;
  bool values = false;       // V
  bool inputs = false;       // x: the rows that queries are projected from, after the norm if the model has one there
  bool value_norms = false;  // |v_j W_O| per head and key (Kobayashi et al., 2020); read() computes them from V
  bool hidden = false;  // the input of the first layer and the output of each layer, as transformers' hidden_states
};

class AttentionLog {
 public:
  explicit AttentionLog(Keep keep = {}) : keep_(keep) {}

  [[nodiscard]] const Keep& keep() const noexcept { return keep_; }

  // ---- for models, while they run ----

  // Where a pass writes its new rows. Later calls may invalidate these views.
  struct Rows {
    View<float, 2> q, k, v;  // [n, H D], [m, G D]; v empty unless kept
    View<float, 3> lse;      // [1, H, n]
  };
  // Adds n queries and m keys to the attention (kind, layer); the first call creates it.
  Rows add(Kind kind, std::int64_t layer, const HeadShape& shape, const Rule& rule, Shape<2> queries_and_keys);
  // Sequences of this pass. A pass that continues another one (generation) extends the last sequence.
  void set_sequences(Kind kind, std::span<const std::int64_t> query_starts, std::span<const std::int64_t> key_starts);
  // Appends rows to hidden states number `index` of the encoder (or the only stack), or of the decoder.
  void add_hidden(bool decoder, std::size_t index, View<const float, 2> rows);
  // Stores x for the queries that add() has just made room for.
  void add_inputs(Kind kind, std::int64_t layer, View<const float, 2> x);

  // ---- for files, and for models that ran outside attnscope ----

  // Inserts a complete attention of one sequence. Throws std::invalid_argument if its matrices do not have the stated
  // sizes, or if its mask does not fit, differs between heads or carries a bias. `whole`: queries and keys of the whole
  // sequence, if the record holds only some of its rows (RecordOptions::ranks).
  void insert(AttentionRecord record, std::optional<Shape<2>> whole = std::nullopt);
  // Computes value norms from V and the model's output projections, then drops what keep() does not request.
  void finish(const class Model& model);

  // ---- for readers ----

  [[nodiscard]] const std::vector<AttentionRecord>& attentions() const noexcept { return attentions_; }
  // Throws std::invalid_argument if it was not recorded; the message lists what was.
  [[nodiscard]] const AttentionRecord& attention(Kind kind, std::int64_t layer) const;
  [[nodiscard]] bool has(Kind kind) const noexcept;
  [[nodiscard]] std::int64_t layers(Kind kind) const noexcept;
  // [L + 1] matrices [T, width]; empty unless kept.
  [[nodiscard]] const std::vector<nn::Matrix>& hidden(bool decoder = false) const noexcept;

  // Memory that its numbers take.
  [[nodiscard]] std::int64_t bytes() const noexcept;

  // Number of queries and keys of one sequence.
  [[nodiscard]] Shape<2> size(Kind kind, std::int64_t sequence = 0) const;

  struct Which {
    Kind kind = Kind::self;
    std::int64_t layer = 0, head = 0, sequence = 0;
  };
  // Rebuilds the weights of queries [row, row + R) and keys [col, col + C) into out [R, C]. Throws
  // std::invalid_argument if the head, sequence or window does not exist.
  void weights(const Which& which, Rectangle window, View<float, 2> out, ThreadPool& pool) const;
  [[nodiscard]] nn::Matrix weights(const Which& which, ThreadPool& pool) const;  // the whole table

 private:
  [[nodiscard]] AttentionRecord& mine(Kind kind, std::int64_t layer);
  struct Sequences {
    std::vector<std::int64_t> queries, keys;  // S + 1 starts
  };
  [[nodiscard]] const Sequences& sequences(Kind kind) const;

  Keep keep_;
  std::vector<AttentionRecord> attentions_;
  Sequences sequences_[3];  // by kind
  std::vector<nn::Matrix> hidden_[2];
};

}  // namespace attn::model
