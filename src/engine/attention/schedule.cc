// engine/attention/schedule.cc - turns the spans of a tile plan into the visits of a block of rows.
#include <algorithm>
#include <limits>

#include "engine/attention/problem.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

static_assert(kTileRows == kernels::kTileRows && kTileKeys == kernels::kTileKeys);

// Appends the segments of one row of tiles to visits, each as full as a chunk allows.
class VisitWriter {
 public:
  VisitWriter(Workspace& work, std::int64_t row, std::int64_t rows)
      : work_(work), row_(static_cast<std::int32_t>(row)), rows_(static_cast<std::int32_t>(rows)) {}

  void add(std::int64_t key, std::int64_t keys, const std::uint64_t* bits) {
    while (keys > 0) {
      if (room_ == 0) {
        work_.visits.push_back({row_, rows_, static_cast<std::int32_t>(work_.segments.size()), 0});
        room_ = kernels::kChunk;
      }
      const std::int64_t part = std::min(keys, room_);
      work_.segments.push_back({key, part, bits});
      ++work_.visits.back().count;
      room_ -= std::min(room_, (part + kTileKeys - 1) / kTileKeys * kTileKeys);
      key += part;
      keys -= part;
    }
  }

 private:
  Workspace& work_;
  std::int32_t row_, rows_;
  std::int64_t room_ = 0;  // keys that still fit in the last visit, a multiple of kTileKeys
};

// Makes room in work.bits for every tile of the block that has to be looked at: segments point into it.
void reserve_bits(const BlockOfRows& block, std::int64_t first_tile, std::int64_t tiles, Workspace& work) {
  const Sequence& s = *block.sequence;
  std::int64_t mixed = 0;
  for (std::int64_t t = first_tile; t < first_tile + tiles; ++t) {
    for (const TileSpan& span : s.plan->row(s.plan_batch, block.head, t)) {
      if (span.bits == TileSpan::kMixed) mixed += span.last - span.first;
    }
  }
  work.bits.clear();
  work.bits.reserve(static_cast<std::size_t>(mixed * kTileRows));
}

// Adds the keys [from, to) of a mixed span, tile by tile.
void add_mixed(const BlockOfRows& block, std::int64_t tile_row, std::int64_t from, std::int64_t to, Workspace& work,
               VisitWriter& writer) {
  const Sequence& s = *block.sequence;
  while (from < to) {
    const std::int64_t end = std::min(to, (from / kTileKeys + 1) * kTileKeys);
    const std::size_t at = work.bits.size();
    work.bits.resize(at + kTileRows);
    const Cover cover = s.plan->look(s.plan_batch, block.head, tile_row, from / kTileKeys, work.bits.data() + at);
    if (cover != Cover::none) writer.add(from, end - from, cover == Cover::some ? work.bits.data() + at : nullptr);
    if (cover != Cover::some) work.bits.resize(at);
    from = end;
  }
}

}  // namespace

void plan_visits(const BlockOfRows& block, Workspace& work) {
  const Sequence& s = *block.sequence;
  const std::int64_t first_tile = block.first / kTileRows;
  const std::int64_t tiles = (block.rows + kTileRows - 1) / kTileRows;
  work.segments.clear();
  work.visits.clear();
  work.cursors.assign(static_cast<std::size_t>(tiles), 0);
  reserve_bits(block, first_tile, tiles, work);
  std::int64_t key = block.key_begin;
  while (key < block.key_end) {
    const std::int64_t end = std::min(block.key_end, key + block.stretch);
    std::int64_t next = std::numeric_limits<std::int64_t>::max();  // the first key that some row still has to visit
    for (std::int64_t t = 0; t < tiles; ++t) {
      const auto spans = s.plan->row(s.plan_batch, block.head, first_tile + t);
      std::int32_t& cursor = work.cursors[static_cast<std::size_t>(t)];
      VisitWriter writer(work, t * kTileRows, std::min(kTileRows, block.rows - t * kTileRows));
      for (; cursor < std::ssize(spans); ++cursor) {
        const TileSpan& span = spans[static_cast<std::size_t>(cursor)];
        const std::int64_t from = std::max(key, span.first * kTileKeys);
        if (from >= end) {
          next = std::min(next, from);
          break;
        }
        const std::int64_t to = std::min(end, span.last * kTileKeys);
        if (span.bits == TileSpan::kMixed) {
          add_mixed(block, first_tile + t, from, to, work, writer);
        } else if (from < to) {
          writer.add(from, to - from, span.bits == TileSpan::kFull ? nullptr : s.plan->bits(span.bits));
        }
        if (span.last * kTileKeys > end) {
          next = std::min(next, end);
          break;
        }
      }
    }
    if (next == std::numeric_limits<std::int64_t>::max()) return;
    key = std::max(end, next / kTileKeys * kTileKeys);
  }
}

}  // namespace attn
