// insight/tables/attention_tables.h - what is looked at: tables of attention weights with their tokens, whoever
// computed them.
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

// Those of a recording of one text. Throws std::invalid_argument if nothing was recorded.
std::vector<AttentionStack> stacks_of(const model::AttentionLog& log);

// What a table's numbers are. Only weights are shares of attention: rows of the others sum to anything.
enum class Numbers { weights, norms, differences };
// "weights", "weights times norms", "differences of weights".
std::string_view name_of(Numbers numbers) noexcept;

// Throws std::invalid_argument unless 0 <= value < count: "there is no layer 7: layers count from 0 to 3".
void need_index(const char* what, std::int64_t value, std::int64_t count);

// What there is to look at: which heads there are, and on which tokens.
class AttentionLayout {
 public:
  virtual ~AttentionLayout() = default;
  AttentionLayout(const AttentionLayout&) = delete;
  AttentionLayout& operator=(const AttentionLayout&) = delete;

  // In the order self, decoder, cross; at least one.
  [[nodiscard]] const std::vector<AttentionStack>& stacks() const noexcept { return stacks_; }
  // Throws std::invalid_argument that says which there are.
  [[nodiscard]] const AttentionStack& stack(Kind kind) const;
  void check(const HeadId& head) const;
  [[nodiscard]] std::vector<HeadId> heads() const;  // all, layer by layer

  [[nodiscard]] virtual const std::vector<text::Token>& queries(Kind kind) const noexcept = 0;
  [[nodiscard]] virtual const std::vector<text::Token>& keys(Kind kind) const noexcept = 0;

  // What it was made from; null: a table of the user's own.
  [[nodiscard]] virtual const model::Recording* recording() const noexcept { return nullptr; }

 protected:
  explicit AttentionLayout(std::vector<AttentionStack> stacks) : stacks_(std::move(stacks)) {}

 private:
  std::vector<AttentionStack> stacks_;
};

// A subject with its weights.
class AttentionTables : public AttentionLayout {
 public:
  // Queries [window.row, + R) against keys [window.col, + C) into out [R, C]. `head` has been checked. Any number of
  // threads may call it, each with a pool of its own.
  virtual void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const = 0;
  [[nodiscard]] nn::Matrix weights(const HeadId& head, ThreadPool& pool) const;  // the whole table

  // What the mask says of a part of the table: none: every weight there is 0, without looking.
  [[nodiscard]] virtual Cover cover(const HeadId& head, const Tile& tile) const;
  // Whether queries see only what came before them: what statistics compare a head with.
  [[nodiscard]] virtual bool causal(const HeadId& head) const = 0;

  [[nodiscard]] virtual Numbers numbers() const noexcept { return Numbers::weights; }

 protected:
  using AttentionLayout::AttentionLayout;
};

// Of a model's pass. Weights are rebuilt whenever they are asked for.
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

// What somebody's names of rows or columns stand for; each is a word of its own.
std::vector<text::Token> named_tokens(std::vector<std::string> names);

// Somebody else's numbers: [L, H, N, M] of one kind, or of each kind that an encoder-decoder has.
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
  // Tokens that are missing are numbered from 0. Throws std::invalid_argument if their number is not that of the
  // tables' rows and columns; tokens of keys may be empty if the tables are square.
  InMemoryTables(Tables tables, std::vector<std::string> queries, std::vector<std::string> keys);
  // Likewise; also if there is no part, or two of one kind.
  explicit InMemoryTables(std::vector<Part> parts);

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override;
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override;
  // No weight above the diagonal of a square table.
  [[nodiscard]] bool causal(const HeadId& head) const override;

 private:
  [[nodiscard]] const Part& part(Kind kind) const noexcept;

  std::vector<Part> parts_;                // as stacks()
  std::vector<std::vector<bool>> causal_;  // of each part [L H]
};

}  // namespace attn::insight
