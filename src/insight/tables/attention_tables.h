// insight/tables/attention_tables.h - the interface of everything in insight: tables of attention weights with their
// tokens, from a recording, from a file, or derived from other tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/attention.h"
#include "attn/thread_pool.h"
#include "attn/view.h"
#include "model/recording/attention_log.h"
#include "model/recording/recording.h"
#include "nn/infer/matrix.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

using model::Kind;

// One head of one layer.
struct HeadId {
  Kind kind = Kind::self;
  std::int64_t layer = 0, head = 0;

  friend bool operator==(const HeadId&, const HeadId&) = default;
};
// "layer 5, head 0"; with the kind in front if it is not self: "cross layer 5, head 0".
std::string to_string(const HeadId& head);

// All attentions of one kind.
struct AttentionStack {
  Kind kind = Kind::self;
  std::int64_t layers = 0, heads = 0;
  std::int64_t queries = 0, keys = 0;
};

// The stacks of a recording of one text. Throws std::invalid_argument if nothing was recorded.
std::vector<AttentionStack> stacks_of(const model::AttentionLog& log);

// What a table's numbers are. Only weights are shares of attention; rows of the others may have any sum.
enum class Numbers { weights, norms, differences };
// "weights", "weights times norms", "differences of weights".
std::string_view name_of(Numbers numbers) noexcept;

// Throws std::invalid_argument unless 0 <= value < count: "there is no layer 7: layers count from 0 to 3".
void need_index(const char* what, std::int64_t value, std::int64_t count);

// The shape of attention tables: their heads and their tokens, without weights.
class AttentionLayout {
 public:
  virtual ~AttentionLayout() = default;
  AttentionLayout(const AttentionLayout&) = delete;
  AttentionLayout& operator=(const AttentionLayout&) = delete;

  // In the order self, decoder, cross; at least one.
  [[nodiscard]] const std::vector<AttentionStack>& stacks() const noexcept { return stacks_; }
  // Both throw std::invalid_argument, naming what exists, if there is no such kind or head.
  [[nodiscard]] const AttentionStack& stack(Kind kind) const;
  void check(const HeadId& head) const;
  [[nodiscard]] std::vector<HeadId> heads() const;  // all, layer by layer

  [[nodiscard]] virtual const std::vector<text::Token>& queries(Kind kind) const noexcept = 0;
  [[nodiscard]] virtual const std::vector<text::Token>& keys(Kind kind) const noexcept = 0;

  // The recording behind the tables; null if there is none, as for a table from a file.
  [[nodiscard]] virtual const model::Recording* recording() const noexcept { return nullptr; }

 protected:
  explicit AttentionLayout(std::vector<AttentionStack> stacks) : stacks_(std::move(stacks)) {}

 private:
  std::vector<AttentionStack> stacks_;
};

// A layout with weights.
class AttentionTables : public AttentionLayout {
 public:
  // Writes the weights of queries [window.row, + R) on keys [window.col, + C) into out [R, C]. The caller has checked
  // `head`. Safe to call from several threads, each with its own pool.
  virtual void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const = 0;
  [[nodiscard]] nn::Matrix weights(const HeadId& head, ThreadPool& pool) const;  // the whole table

  // What the mask allows in a part of the table. Cover::none guarantees that every weight there is 0.
  [[nodiscard]] virtual Cover cover(const HeadId& head, const Tile& tile) const;
  // Whether queries see only themselves and earlier keys; the baseline of statistics depends on it.
  [[nodiscard]] virtual bool causal(const HeadId& head) const = 0;

  [[nodiscard]] virtual Numbers numbers() const noexcept { return Numbers::weights; }

 protected:
  using AttentionLayout::AttentionLayout;
};

// Tables of a recording. Each call of weights() rebuilds them from Q, K and lse.
class RecordedTables : public AttentionTables {
 public:
  explicit RecordedTables(model::Recording recording);

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override;
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override;
  [[nodiscard]] Cover cover(const HeadId& head, const Tile& tile) const override;
  [[nodiscard]] bool causal(const HeadId& head) const override;
  [[nodiscard]] const model::Recording* recording() const noexcept override { return &recording_; }

 private:
  model::Recording recording_;
};

// Tokens with the given texts, for rows or columns named by a user; each is a word of its own.
std::vector<text::Token> named_tokens(std::vector<std::string> names);

// Tables computed elsewhere and held in memory: [L, H, N, M] of one kind, or of each kind of an encoder-decoder.
class InMemoryTables final : public AttentionTables {
 public:
  struct Tables {
    std::int64_t layers = 1, heads = 1;
    nn::Matrix numbers;  // [L H N, M]
  };
  struct Part {
    Kind kind = Kind::self;
    Tables tables;
    std::vector<text::Token> queries, keys;
  };
  // Missing tokens become numbers from 0. Without names for the keys, a square table uses those of the queries. Throws
  // std::invalid_argument if the number of names differs from the number of rows or columns.
  InMemoryTables(Tables tables, std::vector<std::string> queries, std::vector<std::string> keys);
  // Also throws if there is no part, or two of one kind.
  explicit InMemoryTables(std::vector<Part> parts);

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override;
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override;
  // Whether the table is square and has no weight above its diagonal.
  [[nodiscard]] bool causal(const HeadId& head) const override;

 private:
  [[nodiscard]] const Part& part(Kind kind) const noexcept;

  std::vector<Part> parts_;                // in the order of stacks()
  std::vector<std::vector<bool>> causal_;  // per part [L H]
};

}  // namespace attn::insight
