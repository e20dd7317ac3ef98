// attn/tile_plan.h - a mask compiled into the tiles worth visiting.
//
// The N x M pairs are cut into tiles of kTileRows queries by kTileKeys keys. Tiles without a visible pair are left out,
// fully visible tiles run without a mask, and the others carry one bit per pair. A plan depends on the mask and the
// sizes alone: make it once and use it for every layer and call of that shape.
//
// A plan takes O(N) memory whatever the mask: a row of tiles with more than kMostSpans spans is stored as one span, and
// the mask is evaluated again when its tiles are visited. That costs 40 ns per tile; computing with a tile of head
// width 64 takes 2 us.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "attn/mask.h"

namespace attn {

inline constexpr std::int64_t kTileRows = 12;
inline constexpr std::int64_t kTileKeys = 64;

// Neighbouring key tiles [first, last) in one row of tiles: a run of fully visible tiles, one partial tile, or the
// whole of a row that is evaluated when it is visited.
struct TileSpan {
  static constexpr std::int32_t kFull = -1;   // every pair is visible
  static constexpr std::int32_t kMixed = -2;  // tiles of every kind: TilePlan::look()

  std::int32_t first = 0;
  std::int32_t last = 0;      // first + 1 if bits >= 0
  std::int32_t bits = kFull;  // kFull, kMixed, or the tile's pattern, for TilePlan::bits()
};

class TilePlan {
 public:
  // Compiles the mask. Measured, N = M = 4096: causal 27 us, window(256) 53 us; window(256) at N = M = 131,072: 1.8 ms.
  // Throws std::invalid_argument if a size is negative or the mask does not fit, std::length_error for more than
  // 2^31 - 1 different partial tiles. Keeps a copy of the mask: data that a rule of your own points to must live as
  // long as the plan.
  TilePlan(const Mask& mask, const Extent& extent);

  static constexpr std::int64_t kMostSpans = 256;  // stored per row of tiles

  [[nodiscard]] const Extent& extent() const noexcept { return extent_; }
  [[nodiscard]] const Mask& mask() const noexcept { return mask_; }

  // The spans of tile row t, queries [kTileRows * t, kTileRows * (t + 1)), by rising key.
  [[nodiscard]] std::span<const TileSpan> row(std::int64_t b, std::int64_t h, std::int64_t t) const noexcept {
    const std::int64_t at = ((b * batch_step_) + (h * head_step_)) * tile_rows_ + t;
    return {spans_.data() + starts_[at], spans_.data() + starts_[at + 1]};
  }
  // kTileRows words: bit t of word r is set if row r of the tile sees key t of the tile. Bits of rows at or beyond N
  // and of keys at or beyond M are 0.
  [[nodiscard]] const std::uint64_t* bits(std::int32_t pattern) const noexcept {
    return patterns_.data() + pattern * kTileRows;
  }

  // How much of a tile of a kMixed span is visible. Writes its pattern, as bits(), if that is Cover::some.
  Cover look(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t key_tile, std::uint64_t* pattern) const;

  // Calls visit(first, last, bits) for the visible tiles [first, last) of tile row t, by rising key. bits is null if
  // every pair is visible; otherwise it is the pattern of one tile, valid during the call.
  template <typename F>
  void visit_row(std::int64_t b, std::int64_t h, std::int64_t t, F&& visit) const {
    for (const TileSpan& span : row(b, h, t)) {
      if (span.bits != TileSpan::kMixed) {
        visit(span.first, span.last, span.bits == TileSpan::kFull ? nullptr : bits(span.bits));
        continue;
      }
      std::array<std::uint64_t, kTileRows> pattern{};
      for (std::int32_t tile = span.first; tile < span.last; ++tile) {
        const Cover cover = look(b, h, t, tile, pattern.data());
        if (cover != Cover::none) visit(tile, tile + 1, cover == Cover::all ? nullptr : pattern.data());
      }
    }
  }

  // Whether every pair of every head is visible (also true if there are no pairs).
  [[nodiscard]] bool full() const noexcept { return partial_ == 0 && skipped_ == 0; }

  // Number of tiles of each kind, summed over the distinct (b, h) of this plan.
  [[nodiscard]] std::int64_t full_tiles() const noexcept { return full_; }
  [[nodiscard]] std::int64_t partial_tiles() const noexcept { return partial_; }
  [[nodiscard]] std::int64_t skipped_tiles() const noexcept { return skipped_; }

  // Number of visible pairs (i, j), over all B and H.
  [[nodiscard]] std::int64_t pairs() const noexcept { return pairs_; }
  // Whether heads of one sequence see different keys.
  [[nodiscard]] bool per_head() const noexcept { return head_step_ != 0; }
  // Number of distinct patterns: each is stored once, however many tiles have it.
  [[nodiscard]] std::int64_t patterns() const noexcept { return std::ssize(patterns_) / kTileRows; }

 private:
  class Builder;

  Extent extent_;
  Mask mask_;
  std::int64_t tile_rows_ = 0;                   // ceil(N / kTileRows)
  std::int64_t batch_step_ = 0, head_step_ = 0;  // 0 if the mask does not depend on b or h
  std::int64_t full_ = 0, partial_ = 0, skipped_ = 0, pairs_ = 0;
  std::vector<std::int64_t> starts_;  // index into spans_ of each tile row, and the end
  std::vector<TileSpan> spans_;
  std::vector<std::uint64_t> patterns_;  // [patterns][kTileRows]
};

}  // namespace attn
