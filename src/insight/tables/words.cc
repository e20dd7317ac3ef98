#include "insight/tables/words.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "insight/blocks/blocks.h"
#include "insight/tables/word_boundary.h"

namespace attn::insight {

namespace {

// A text indexed by code points, the unit of spans.
class WordSource {
 public:
  explicit WordSource(const std::string& text) : text_(text) {
    for (std::size_t at = 0; at < text.size(); at += base::first_character(std::string_view(text).substr(at)).size)
      starts_.push_back(at);
    starts_.push_back(text.size());
  }

  // Empty if the text has no such part.
  [[nodiscard]] std::string_view part(text::Span span) const {
    if (span.from < 0 || span.from >= span.to || span.to >= std::ssize(starts_)) return {};
    const std::size_t from = starts_[static_cast<std::size_t>(span.from)];
    return std::string_view(text_).substr(from, starts_[static_cast<std::size_t>(span.to)] - from);
  }

 private:
  const std::string& text_;
  std::vector<std::size_t> starts_;
};

text::Span joined_span(std::span<const text::Token> tokens) {
  text::Span all;
  for (const text::Token& token : tokens) {
    if (token.span.from == token.span.to) continue;
    if (all.from == all.to) all.from = token.span.from;
    all.to = token.span.to;
  }
  return all;
}

text::Token as_word(std::span<const text::Token> tokens, const WordSource* source, std::int64_t number) {
  text::Token word = tokens.front();
  word.word = number;
  if (word.special) return word;
  word.span = joined_span(tokens);
  const std::string_view written = source == nullptr ? std::string_view() : source->part(word.span);
  const std::string joined = written.empty() ? joined_text(tokens) : std::string(written);
  word.text = without_spaces_around(joined);
  return word;
}

class WordTables final : public AttentionTables {
 public:
  static std::unique_ptr<AttentionTables> of(std::shared_ptr<const AttentionTables> inner) {
    Parts parts(*inner);
    return std::unique_ptr<AttentionTables>(new WordTables(std::move(parts), std::move(inner)));
  }

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override {
    return parts_.of(kind).queries.words;
  }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override {
    return parts_.of(kind).keys.words;
  }
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override;
  [[nodiscard]] Cover cover(const HeadId& head, const Tile& tile) const override;
  [[nodiscard]] bool causal(const HeadId& head) const override { return inner_->causal(head); }
  [[nodiscard]] Numbers numbers() const noexcept override { return inner_->numbers(); }

 private:
  // How one stack's tokens become words.
  struct Part {
    Words queries, keys;
    std::vector<std::int64_t> query_words, key_words;  // the word of each token
  };
  struct Parts {
    explicit Parts(const AttentionTables& inner);
    [[nodiscard]] const Part& of(Kind kind) const noexcept {
      const auto found = std::ranges::find(stacks, kind, &AttentionStack::kind);
      return all[found == stacks.end() ? 0 : static_cast<std::size_t>(found - stacks.begin())];
    }
    std::vector<AttentionStack> stacks;
    std::vector<Part> all;
  };
  WordTables(Parts parts, std::shared_ptr<const AttentionTables> inner)
      : AttentionTables(parts.stacks), inner_(std::move(inner)), parts_(std::move(parts)) {}

  std::shared_ptr<const AttentionTables> inner_;
  Parts parts_;
};

WordTables::Parts::Parts(const AttentionTables& inner) : stacks(inner.stacks()) {
  const model::Text* text = inner.recording() == nullptr ? nullptr : &inner.recording()->origin.text;
  for (AttentionStack& stack : stacks) {
    Part part{words_of(inner.queries(stack.kind), text), words_of(inner.keys(stack.kind), text), {}, {}};
    part.query_words = part.queries.of_tokens();
    part.key_words = part.keys.of_tokens();
    stack.queries = part.queries.count();
    stack.keys = part.keys.count();
    all.push_back(std::move(part));
  }
}

Cover WordTables::cover(const HeadId& head, const Tile& tile) const {
  const Part& part = parts_.of(head.kind);
  const auto token = [](const Words& words, std::int64_t word) { return words.starts[static_cast<std::size_t>(word)]; };
  return inner_->cover(head, {tile.b, tile.h, token(part.queries, tile.i0), token(part.queries, tile.i1),
                              token(part.keys, tile.j0), token(part.keys, tile.j1)});
}

void WordTables::weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const {
  const Part& part = parts_.of(head.kind);
  const auto start = [](const Words& words, std::int64_t word) { return words.starts[static_cast<std::size_t>(word)]; };
  const std::int64_t first_row = start(part.queries, window.row);
  const std::int64_t last_row = start(part.queries, window.row + out.shape[0]);
  const std::int64_t first_column = start(part.keys, window.col);
  const std::int64_t last_column = start(part.keys, window.col + out.shape[1]);
  for (std::int64_t r = 0; r < out.shape[0]; ++r) std::fill_n(out.at(r), out.shape[1], 0.0F);

  nn::Matrix memory(std::min(kBlockQueries, last_row - first_row), std::min(kBlockColumns, last_column - first_column));
  for (std::int64_t row = first_row; row < last_row; row += memory.rows()) {
    const std::int64_t rows = std::min(memory.rows(), last_row - row);
    for (std::int64_t col = first_column; col < last_column; col += memory.columns()) {
      const std::int64_t columns = std::min(memory.columns(), last_column - col);
      if (inner_->cover(head, {0, head.head, row, row + rows, col, col + columns}) == Cover::none) continue;
      const View<float, 2> block{memory.data(), {rows, columns}, {memory.columns(), 1}};
      inner_->weights(head, {row, col}, block, pool);
      const std::int64_t* const key_word = part.key_words.data() + col;
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t word = part.query_words[static_cast<std::size_t>(row + i)];
        const auto tokens = static_cast<float>(start(part.queries, word + 1) - start(part.queries, word));
        float* const to = out.at(word - window.row);
        for (std::int64_t j = 0; j < columns; ++j) to[key_word[j] - window.col] += block(i, j) / tokens;
      }
    }
  }
}

}  // namespace

std::vector<std::int64_t> Words::of_tokens() const {
  std::vector<std::int64_t> of(static_cast<std::size_t>(starts.back()));
  for (std::int64_t w = 0; w < count(); ++w) {
    const auto at = static_cast<std::size_t>(w);
    std::fill(of.begin() + starts[at], of.begin() + starts[at + 1], w);
  }
  return of;
}

Words words_of(std::span<const text::Token> tokens, const model::Text* source) {
  std::optional<WordSource> first, second;
  if (source != nullptr) first.emplace(source->text);
  if (source != nullptr && source->pair) second.emplace(*source->pair);
  const WordBoundary begins_word(tokens);
  Words out{{}, {0}};
  bool behind_text = false, in_pair = false;
  for (std::size_t from = 0, to = 0; from < tokens.size(); from = to) {
    for (to = from + 1; to < tokens.size() && !begins_word(to);) ++to;
    // Not every tokenizer numbers the texts of a pair, but all put special tokens between them.
    const bool special = tokens[from].special;
    in_pair = in_pair || tokens[from].sequence == 1 || (behind_text && special);
    behind_text = behind_text || !special;
    const std::optional<WordSource>& of = in_pair && second ? second : first;
    out.words.push_back(as_word(tokens.subspan(from, to - from), of ? &*of : nullptr, out.count()));
    out.starts.push_back(static_cast<std::int64_t>(to));
  }
  return out;
}

std::unique_ptr<AttentionTables> merged_words(std::shared_ptr<const AttentionTables> tables) {
  return WordTables::of(std::move(tables));
}

}  // namespace attn::insight
