// engine/mask/mask_document.cc - the Document mask: several documents in one sequence.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "attn/mask.h"
#include "engine/mask/mask_bits.h"

namespace attn {

// Documents are numbered over all sequences, by their keys. Most are contiguous, and two positions describe them. For
// the others, each word of 64 keys keeps the bits of the documents that occur in it.
struct Document::Index {
  struct Reach {
    std::int64_t first = 0, last = 0, count = 0;
    [[nodiscard]] bool one_piece() const { return last - first + 1 == count; }
  };
  struct Piece {
    std::int64_t document = 0;
    std::uint64_t bits = 0;
  };

  // asking: the ids of the queries, if they are not those of the keys.
  explicit Index(View<const std::int64_t, 2> keys, View<const std::int64_t, 2> asking = {})
      : batch(keys.shape[0]), length(keys.shape[1]), words((length + 63) / 64) {
    if (batch < 1 || length < 1) {
      throw std::invalid_argument("mask: the ids of document are [" + std::to_string(batch) + "," +
                                  std::to_string(length) + "], but must be [1|B, N] and not empty");
    }
    ids.reserve(batch * length);
    documents.reserve(batch * length);
    for (std::int64_t b = 0; b < batch; ++b) {
      const Numbers numbers = number_documents(keys.at(b));
      if (asking.data != nullptr) number_queries(asking.at(b), asking.shape[1], numbers);
    }
    pieces_begin.reserve(batch * words + 1);
    pieces_begin.push_back(0);
    for (std::int64_t b = 0; b < batch; ++b) collect_pieces(b);
  }

  using Numbers = std::unordered_map<std::int64_t, std::int64_t>;

  Numbers number_documents(const std::int64_t* given) {
    Numbers numbers;
    for (std::int64_t j = 0; j < length; ++j) {
      const bool same = j > 0 && given[j] == given[j - 1];  // saves the look-up: documents are long
      const std::int64_t next = static_cast<std::int64_t>(reaches.size());
      const std::int64_t d = same ? documents.back() : numbers.try_emplace(given[j], next).first->second;
      if (d == next) reaches.push_back({j, j, 0});
      reaches[d].last = j;
      ++reaches[d].count;
      documents.push_back(d);
      ids.push_back(given[j]);
    }
    return numbers;
  }

  void number_queries(const std::int64_t* given, std::int64_t count, const Numbers& numbers) {
    queries = count;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto found = numbers.find(given[i]);
      query_documents.push_back(found == numbers.end() ? kNoDocument : found->second);
      query_ids.push_back(given[i]);
    }
  }

  void collect_pieces(std::int64_t b) {
    for (std::int64_t word = 0; word < words; ++word) {
      for (std::int64_t j = word * 64; j < std::min(length, word * 64 + 64); ++j) {
        const std::int64_t d = documents[b * length + j];
        if (!reaches[d].one_piece()) piece_of(d).bits |= std::uint64_t{1} << (j & 63);
      }
      pieces_begin.push_back(static_cast<std::int64_t>(pieces.size()));
    }
  }

  Piece& piece_of(std::int64_t document) {
    for (std::size_t p = pieces_begin.back(); p < pieces.size(); ++p) {
      if (pieces[p].document == document) return pieces[p];
    }
    return pieces.emplace_back(Piece{document, 0});
  }

  [[nodiscard]] std::int64_t sequence(std::int64_t b) const { return batch == 1 ? 0 : b; }
  // The document of query i, or kNoDocument.
  [[nodiscard]] std::int64_t document(std::int64_t b, std::int64_t i) const {
    return own_queries() ? query_documents[sequence(b) * queries + i] : documents[sequence(b) * length + i];
  }
  [[nodiscard]] bool own_queries() const { return !query_ids.empty(); }

  static constexpr std::int64_t kNoDocument = -1;
  std::int64_t batch, length, words;
  std::int64_t queries = 0;                              // per sequence, if they have ids of their own
  std::vector<std::int64_t> query_ids, query_documents;  // [batch, queries]
  std::vector<std::int64_t> ids, documents;              // [batch, length]: the caller's ids, and our numbers
  std::vector<Reach> reaches;                            // of each document
  std::vector<std::int64_t> pieces_begin;                // [batch, words], and the end
  std::vector<Piece> pieces;
};

Document::Document(const std::vector<std::int64_t>& ids)
    : Document(View<const std::int64_t, 2>(ids.data(), {1, static_cast<std::int64_t>(ids.size())})) {}

Document::Document(View<const std::int64_t, 2> ids) : index_(std::make_shared<const Index>(ids)) {}

Document::Document(View<const std::int64_t, 2> ids, View<const std::int64_t, 2> key_ids) {
  if (ids.shape[0] != key_ids.shape[0] || ids.shape[1] < 1) {
    throw std::invalid_argument("mask: the ids of document are [" + std::to_string(ids.shape[0]) + "," +
                                std::to_string(ids.shape[1]) + "] for queries and [" +
                                std::to_string(key_ids.shape[0]) + "," + std::to_string(key_ids.shape[1]) +
                                "] for keys, but must be [1|B, N] and [1|B, M], not empty, with the same first axis");
  }
  index_ = std::make_shared<const Index>(key_ids, ids);
}

std::uint64_t Document::row(std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) const {
  const std::int64_t d = index_->document(b, i);
  if (d == Index::kNoDocument) return detail::kNoKey;
  const Index::Reach& reach = index_->reaches[d];
  if (reach.one_piece()) return detail::bits_between(j, reach.first, reach.last);
  const std::int64_t word = index_->sequence(b) * index_->words + j / 64;
  for (std::int64_t p = index_->pieces_begin[word]; p < index_->pieces_begin[word + 1]; ++p) {
    if (index_->pieces[p].document == d) return index_->pieces[p].bits;
  }
  return detail::kNoKey;
}

Cover Document::cover(const Tile& tile) const {
  if (tile.i1 - tile.i0 > 256) return Cover::some;  // a plan asks for fewer rows; more are not worth the walk
  static constexpr Index::Reach kNowhere{-1, -1, 0};
  bool none = true, all = true;
  for (std::int64_t i = tile.i0; i < tile.i1;) {
    const std::int64_t d = index_->document(tile.b, i);
    const Index::Reach& reach = d == Index::kNoDocument ? kNowhere : index_->reaches[d];
    i = !index_->own_queries() && reach.one_piece() ? reach.last + 1 : i + 1;
    none = none && (reach.last < tile.j0 || reach.first >= tile.j1);
    all = all && reach.one_piece() && reach.first <= tile.j0 && reach.last >= tile.j1 - 1;
    if (!none && !all) return Cover::some;
  }
  return none ? Cover::none : Cover::all;
}

bool Document::per_batch() const { return index_->batch > 1; }

void Document::check(const Extent& extent) const {
  const auto pair = [](std::int64_t a, std::int64_t b) { return std::to_string(a) + " and " + std::to_string(b); };
  if (index_->batch != 1 && index_->batch != extent.batch) {
    throw std::invalid_argument("mask: document has ids for " + std::to_string(index_->batch) +
                                " sequences, but there are " + std::to_string(extent.batch) +
                                "; pass one row of ids for all or one for each");
  }
  if (index_->own_queries()) {
    if (index_->queries == extent.queries && index_->length == extent.keys) return;
    throw std::invalid_argument("mask: document has ids for " + pair(index_->queries, index_->length) +
                                " queries and keys, but N and M are " + pair(extent.queries, extent.keys));
  }
  if (index_->length != extent.queries || index_->length != extent.keys) {
    throw std::invalid_argument("mask: document has " + std::to_string(index_->length) +
                                " ids per sequence, but N and M are " + pair(extent.queries, extent.keys) +
                                "; both must equal the number of ids, or the keys need ids of their own");
  }
}

std::string Document::text() const {
  std::string text = "document(";
  const auto append = [&](const std::vector<std::int64_t>& ids, std::int64_t b, std::int64_t count, char end) {
    for (std::int64_t j = 0; j < count; ++j) text += std::to_string(ids[b * count + j]) + (j + 1 < count ? ',' : end);
  };
  for (std::int64_t b = 0; b < index_->batch; ++b) {
    if (index_->own_queries()) append(index_->query_ids, b, index_->queries, '/');
    append(index_->ids, b, index_->length, ';');
  }
  text.back() = ')';
  return text;
}

template struct detail::RuleNode<Document>;

}  // namespace attn
