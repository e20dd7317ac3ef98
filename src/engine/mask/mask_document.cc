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

// Documents are numbered over all sequences. Most are contiguous, and two positions describe them. For the others, each
// word of 64 keys keeps the bits of the documents that occur in it.
struct Document::Index {
  struct Reach {
    std::int64_t first = 0, last = 0, count = 0;
    [[nodiscard]] bool one_piece() const { return last - first + 1 == count; }
  };
  struct Piece {
    std::int64_t document = 0;
    std::uint64_t bits = 0;
  };

  explicit Index(View<const std::int64_t, 2> view)
      : batch(view.shape[0]), length(view.shape[1]), words((length + 63) / 64) {
    if (batch < 1 || length < 1) {
      throw std::invalid_argument("mask: the ids of document are [" + std::to_string(batch) + "," +
                                  std::to_string(length) + "], but must be [1|B, N] and not empty");
    }
    ids.reserve(batch * length);
    documents.reserve(batch * length);
    for (std::int64_t b = 0; b < batch; ++b) number_documents(view.at(b));
    pieces_begin.reserve(batch * words + 1);
    pieces_begin.push_back(0);
    for (std::int64_t b = 0; b < batch; ++b) collect_pieces(b);
  }

  void number_documents(const std::int64_t* given) {
    std::unordered_map<std::int64_t, std::int64_t> numbers;
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
  [[nodiscard]] std::int64_t document(std::int64_t b, std::int64_t i) const {
    return documents[sequence(b) * length + i];
  }

  std::int64_t batch, length, words;
  std::vector<std::int64_t> ids, documents;  // [batch, length]: the caller's ids, and our numbers
  std::vector<Reach> reaches;                // of each document
  std::vector<std::int64_t> pieces_begin;    // [batch, words], and the end
  std::vector<Piece> pieces;
};

Document::Document(const std::vector<std::int64_t>& ids)
    : Document(View<const std::int64_t, 2>(ids.data(), {1, static_cast<std::int64_t>(ids.size())})) {}

Document::Document(View<const std::int64_t, 2> ids) : index_(std::make_shared<const Index>(ids)) {}

std::uint64_t Document::row(std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) const {
  const std::int64_t d = index_->document(b, i);
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
  bool none = true, all = true;
  for (std::int64_t i = tile.i0; i < tile.i1;) {
    const Index::Reach& reach = index_->reaches[index_->document(tile.b, i)];
    i = reach.one_piece() ? reach.last + 1 : i + 1;
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
  if (index_->length != extent.queries || index_->length != extent.keys) {
    throw std::invalid_argument("mask: document has " + std::to_string(index_->length) +
                                " ids per sequence, but N and M are " + pair(extent.queries, extent.keys) +
                                "; both must equal the number of ids");
  }
}

std::string Document::text() const {
  std::string text = "document(";
  for (std::int64_t b = 0; b < index_->batch; ++b) {
    for (std::int64_t j = 0; j < index_->length; ++j) {
      text += std::to_string(index_->ids[b * index_->length + j]) + (j + 1 < index_->length ? "," : ";");
    }
  }
  text.back() = ')';
  return text;
}

template struct detail::RuleNode<Document>;

}  // namespace attn
