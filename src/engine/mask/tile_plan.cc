// engine/mask/tile_plan.cc - finds the tiles of a plan: halves ranges of keys as long as the mask covers some of them.
#include "attn/tile_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "engine/mask/mask_bits.h"

namespace attn {
namespace {

using Pattern = std::array<std::uint64_t, kTileRows>;

constexpr std::int64_t kMostTiles = std::numeric_limits<std::int32_t>::max();

std::uint64_t hash(const std::uint64_t* pattern) noexcept {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};      // four independent chains of multiplications
  for (std::size_t r = 0; r < kTileRows; ++r) lanes[r % 4] = (std::rotl(lanes[r % 4], 29) ^ pattern[r]) * kOdd;
  std::uint64_t x = 0;
  for (const std::uint64_t lane : lanes) x = (std::rotl(x, 29) ^ lane) * kOdd;
  return x ^ (x >> 32);
}

std::int64_t count_pairs(const Extent& e) {
  std::int64_t pairs = 1;
  for (const std::int64_t n : {e.batch, e.heads, e.queries, e.keys}) {
    if (n < 0) throw std::invalid_argument("TilePlan: a size is " + std::to_string(n) + ", but must not be negative");
    if (n != 0 && pairs > std::numeric_limits<std::int64_t>::max() / n) {
      throw std::invalid_argument("TilePlan: more than 2^63 pairs");
    }
    pairs *= n;
  }
  return pairs;
}

struct TileBits {
  Pattern pattern{};  // as TilePlan::bits()
  std::int64_t pairs = 0;
};

// cover() may return `some` for anything; the bits decide.
TileBits bits_of(const Mask& mask, const Tile& tile) {
  TileBits found;
  mask.rows(tile, found.pattern.data());
  const std::uint64_t keys = detail::bits_between(tile.j0, tile.j0, tile.j1 - 1);
  for (std::uint64_t& word : found.pattern) found.pairs += std::popcount(word &= keys);
  return found;
}

std::int64_t pairs_of(const Tile& tile) { return (tile.i1 - tile.i0) * (tile.j1 - tile.j0); }

}  // namespace

class TilePlan::Builder {
 public:
  Builder(TilePlan& plan, const Mask& mask) : plan_(plan), mask_(mask), extent_(plan.extent_) {}

  // All tile rows of one head. A band of several tile rows comes first: what the mask covers not at all or fully for
  // the band is decided for each of its rows, which halves the time of causal and window masks.
  void add_head(std::int64_t b, std::int64_t h) {
    constexpr std::int64_t kBand = 16;
    tile_.b = b;
    tile_.h = h;
    for (std::int64_t t = 0; t < plan_.tile_rows_; t += kBand) {
      const std::int64_t end = std::min(t + kBand, plan_.tile_rows_);
      set_rows(t, end);
      pieces_.clear();
      find_pieces(0, (extent_.keys + kTileKeys - 1) / kTileKeys);
      for (std::int64_t row = t; row < end; ++row) add_row(row);
    }
  }

 private:
  // Key tiles [first, last) of a band: visible to all of it, or undecided (then only one tile).
  struct Piece {
    std::int64_t first = 0, last = 0;
    bool all = false;
  };

  void set_rows(std::int64_t first, std::int64_t last) {
    tile_.i0 = first * kTileRows;
    tile_.i1 = std::min(last * kTileRows, extent_.queries);
  }

  Cover cover(std::int64_t first, std::int64_t last) {
    tile_.j0 = first * kTileKeys;
    tile_.j1 = std::min(last * kTileKeys, extent_.keys);
    return mask_.cover(tile_);
  }

  void find_pieces(std::int64_t first, std::int64_t last) {
    const Cover c = cover(first, last);
    if (c == Cover::none) return;
    if (c == Cover::all || last - first == 1) {
      pieces_.push_back({first, last, c == Cover::all});
      return;
    }
    const std::int64_t middle = first + (last - first) / 2;
    find_pieces(first, middle);
    find_pieces(middle, last);
  }

  void add_row(std::int64_t t) {
    set_rows(t, t + 1);
    row_begin_ = std::ssize(plan_.spans_);
    row_patterns_ = plan_.patterns();
    for (const Piece& piece : pieces_) {
      const Cover c = piece.all ? Cover::all : cover(piece.first, piece.last);
      if (c == Cover::all) add_full(piece.first, piece.last);
      if (c == Cover::some) look_at(piece.first);
    }
    plan_.starts_.push_back(static_cast<std::int64_t>(plan_.spans_.size()));
  }

  void look_at(std::int64_t key_tile) {
    const TileBits found = bits_of(mask_, tile_);
    if (found.pairs == 0) return;
    if (found.pairs == pairs_of(tile_)) return add_full(key_tile, key_tile + 1);
    const auto tile = static_cast<std::int32_t>(key_tile);
    push({tile, tile + 1, is_mixed() ? TileSpan::kMixed : number_of(found.pattern)});
    plan_.pairs_ += found.pairs;
    ++plan_.partial_;
  }

  void add_full(std::int64_t first, std::int64_t last) {
    plan_.full_ += last - first;
    plan_.pairs_ += (tile_.i1 - tile_.i0) * (std::min(last * kTileKeys, extent_.keys) - first * kTileKeys);
    auto& spans = plan_.spans_;
    if (std::ssize(spans) > row_begin_ && spans.back().bits == TileSpan::kFull && spans.back().last == first) {
      spans.back().last = static_cast<std::int32_t>(last);
    } else {
      push({static_cast<std::int32_t>(first), static_cast<std::int32_t>(last), TileSpan::kFull});
    }
  }

  // Whether the current row has become one mixed span.
  [[nodiscard]] bool is_mixed() const {
    return std::ssize(plan_.spans_) > row_begin_ && plan_.spans_.back().bits == TileSpan::kMixed;
  }

  void push(const TileSpan& span) {
    auto& spans = plan_.spans_;
    if (is_mixed()) {
      spans.back().last = span.last;
    } else if (std::ssize(spans) - row_begin_ < kMostSpans) {
      spans.push_back(span);
    } else {
      spans.resize(static_cast<std::size_t>(row_begin_) + 1);
      spans.back() = {spans.back().first, span.last, TileSpan::kMixed};
      forget_patterns();
    }
  }

  // Removes the patterns that the current row has added. The last added goes first, so that every other one is still
  // found where linear probing put it.
  void forget_patterns() {
    for (std::int64_t p = plan_.patterns() - 1; p >= row_patterns_; --p) {
      std::uint64_t s = hash(plan_.patterns_.data() + p * kTileRows);
      while (slots_[s & (slots_.size() - 1)] != p) ++s;
      slots_[s & (slots_.size() - 1)] = -1;
    }
    plan_.patterns_.resize(static_cast<std::size_t>(row_patterns_ * kTileRows));
  }

  std::int32_t number_of(const Pattern& pattern) {
    auto& patterns = plan_.patterns_;
    const std::int64_t count = plan_.patterns();
    if (2 * count >= std::ssize(slots_)) grow();
    for (std::uint64_t s = hash(pattern.data());; ++s) {
      std::int32_t& slot = slots_[s & (slots_.size() - 1)];
      if (slot >= 0) {
        if (std::equal(pattern.begin(), pattern.end(), plan_.bits(slot))) return slot;
        continue;
      }
      if (count == kMostTiles) throw std::length_error("TilePlan: more than 2^31 - 1 different partial tiles");
      patterns.insert(patterns.end(), pattern.begin(), pattern.end());
      return slot = static_cast<std::int32_t>(count);
    }
  }

  void grow() {
    const std::int64_t count = plan_.patterns();
    slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), -1);
    for (std::int64_t p = 0; p < count; ++p) {
      std::uint64_t s = hash(plan_.patterns_.data() + p * kTileRows);
      while (slots_[s & (slots_.size() - 1)] >= 0) ++s;
      slots_[s & (slots_.size() - 1)] = static_cast<std::int32_t>(p);
    }
  }

  TilePlan& plan_;
  const Mask& mask_;
  const Extent extent_;
  Tile tile_;                        // the current one
  std::vector<Piece> pieces_;        // of the current band, by rising key
  std::int64_t row_begin_ = 0;       // the first span of the current row, in spans_
  std::int64_t row_patterns_ = 0;    // patterns of the rows before it
  std::vector<std::int32_t> slots_;  // hash table of patterns; -1: free; at most half full
};

TilePlan::TilePlan(const Mask& mask, const Extent& extent) : extent_(extent), mask_(mask) {
  const std::int64_t all_pairs = count_pairs(extent);
  if (extent.keys / kTileKeys >= kMostTiles) {
    throw std::invalid_argument("TilePlan: " + std::to_string(extent.keys) + " keys are more than " +
                                std::to_string(kMostTiles * kTileKeys));
  }
  mask.check(extent);
  const std::int64_t batches = mask.per_batch() ? extent.batch : 1;
  const std::int64_t heads = mask.per_head() ? extent.heads : 1;
  tile_rows_ = (extent.queries + kTileRows - 1) / kTileRows;
  head_step_ = mask.per_head() ? 1 : 0;
  batch_step_ = mask.per_batch() ? heads : 0;

  starts_.reserve(batches * heads * tile_rows_ + 1);
  spans_.reserve(batches * heads * tile_rows_);
  starts_.push_back(0);
  if (all_pairs == 0) {
    starts_.resize(batches * heads * tile_rows_ + 1, 0);
    return;
  }
  Builder builder(*this, mask);
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) builder.add_head(b, h);
  }
  skipped_ = batches * heads * tile_rows_ * ((extent.keys + kTileKeys - 1) / kTileKeys) - full_ - partial_;
  pairs_ *= extent.batch / batches * (extent.heads / heads);
}

Cover TilePlan::look(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t key_tile,
                     std::uint64_t* pattern) const {
  const std::int64_t i = t * kTileRows, j = key_tile * kTileKeys;
  const Tile tile{b, h, i, std::min(i + kTileRows, extent_.queries), j, std::min(j + kTileKeys, extent_.keys)};
  const Cover cover = mask_.cover(tile);
  if (cover != Cover::some) return cover;
  const TileBits found = bits_of(mask_, tile);
  std::ranges::copy(found.pattern, pattern);
  return found.pairs == 0 ? Cover::none : found.pairs == pairs_of(tile) ? Cover::all : Cover::some;
}

}  // namespace attn
