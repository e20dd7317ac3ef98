// engine/attention/forward.cc - schedules fused attention: packs keys and values, distributes blocks of queries.
//
// One task computes an output row from start to end and visits its keys in rising order. So the bits of the result do
// not depend on blocks and threads.
#include "engine/kernels/attention/forward.h"

#include <algorithm>
#include <array>

#include "engine/attention/problem.h"
#include "engine/kernels/attention/pack.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

constexpr std::int64_t kBlockRows = 96;
constexpr std::int64_t kBlockRowsWithWeights = 24;
constexpr std::int64_t kPieceRows = 170 * kTileRows;  // 2,040: K and V of so many keys fill half of a 2 MB cache
constexpr std::int64_t kPrefetchBytes = std::int64_t{256} << 10;
constexpr std::int64_t kCachedBytes = std::int64_t{1} << 20;
constexpr std::int64_t kReadOften = 192;                         // queries per key head from which copying V pays off
constexpr std::int64_t kStretchFloats = std::int64_t{64} << 10;  // K and V of a stretch: half of a 512 KB cache
constexpr std::int64_t kSharedFloats = Floats::kKeep;            // panels of all heads that are packed together: 8 MB
constexpr std::int64_t kOwnFloats = std::int64_t{1} << 20;       // panels that one task packs for itself: 4 MB

struct RowRange {
  std::int64_t first = 0, rows = 0;
};

// A stretch of queries of a sequence, and the stretch of keys that they see.
struct WorkPiece {
  const Sequence* sequence = nullptr;
  RowRange range;
  std::int64_t first_key = 0, keys = 0;  // first_key is a multiple of kTileKeys
};

// One key head of a piece, with its keys and values packed for the kernels.
struct PackedHead {
  const WorkPiece* piece = nullptr;
  std::int64_t key_head = 0;
  float* panels = nullptr;
  float* values_copy = nullptr;  // null: V is read in place
  std::uint8_t* flags = nullptr;
  bool not_finite = false;
};

// The whole sequence as one piece.
WorkPiece whole(const Sequence& s) { return {&s, {0, s.queries}, 0, s.keys}; }

// The piece of a sequence from row `first` on, at most kPieceRows rows, with the keys that some head sees.
WorkPiece piece_at(const Problem& p, const Sequence& s, std::int64_t first) {
  WorkPiece piece{&s, {first, std::min(kPieceRows, s.queries - first)}, 0, 0};
  std::int64_t begin = s.keys, end = 0;
  for (std::int64_t h = 0; h < (s.plan->per_head() ? p.sizes.heads : 1); ++h) {
    for (std::int64_t row = first; row < first + piece.range.rows; row += kTileRows) {
      const auto spans = s.plan->row(s.plan_batch, h, row / kTileRows);
      if (spans.empty()) continue;
      begin = std::min(begin, spans.front().first * kTileKeys);
      end = std::max(end, spans.back().last * kTileKeys);
    }
  }
  end = std::min(end, s.keys);
  if (begin < end) {
    piece.first_key = begin;
    piece.keys = end - begin;
  }
  return piece;
}

// Cuts long sequences with local masks into pieces whose keys fit in the L2 cache. Leaves a sequence whole if its
// keys would have to be packed several times.
std::vector<WorkPiece> pieces_of(const Problem& p) {
  std::vector<WorkPiece> pieces;
  for (const Sequence& s : p.sequences) {
    const std::size_t before = pieces.size();
    std::int64_t packed = 0;
    for (std::int64_t first = 0; s.queries > kPieceRows && first < s.queries && 2 * packed <= 3 * s.keys;
         first += kPieceRows) {
      packed += pieces.emplace_back(piece_at(p, s, first)).keys;
    }
    if (pieces.size() > before && 2 * packed <= 3 * s.keys) continue;
    pieces.resize(before);
    pieces.push_back(whole(s));
  }
  return pieces;
}

struct ForwardLayout {
  std::int64_t panels = 0, values = 0, flags = 0;  // floats, floats, bytes of the longest piece
  bool copies_values = false;                      // a product cannot read V in place, or not fast enough
  bool looks_for_not_finite = false;               // only partial tiles need the flags
};

ForwardLayout layout_of(const Problem& p, std::span<const WorkPiece> pieces) {
  ForwardLayout layout;
  const kernels::Rows v = p.v(p.sequences.front(), 0);
  const bool read_often = p.sizes.queries * p.sizes.group() >= kReadOften;
  layout.copies_values = read_often || !kernels::values_are_ready(v, p.sizes.value_width);
  for (const WorkPiece& piece : pieces) {
    layout.panels = std::max(layout.panels, kernels::panel_floats(piece.keys, p.sizes.width));
    layout.values = std::max(layout.values, kernels::value_floats(piece.keys, p.sizes.value_width));
    layout.flags = std::max(layout.flags, (piece.keys + kTileKeys - 1) / kTileKeys);
    layout.looks_for_not_finite = layout.looks_for_not_finite || piece.sequence->plan->partial_tiles() > 0;
  }
  if (!layout.copies_values) layout.values = 0;
  return layout;
}

kernels::Rows keys_of(const Problem& p, const PackedHead& unit) {
  return from_row(p.k(*unit.piece->sequence, unit.key_head), unit.piece->first_key);
}
kernels::Rows values_of(const Problem& p, const PackedHead& unit) {
  return from_row(p.v(*unit.piece->sequence, unit.key_head), unit.piece->first_key);
}

// Packs keys and values [first, first + count) of a head. Returns whether some value is not finite.
bool pack(const Problem& p, const ForwardLayout& layout, const PackedHead& unit, std::int64_t first,
          std::int64_t count) {
  kernels::pack_keys({keys_of(p, unit), first, count, p.sizes.width, unit.panels});
  kernels::PackValues values;
  values.v = values_of(p, unit);
  values.first = first;
  values.count = count;
  values.width = p.sizes.value_width;
  values.keys = unit.piece->keys;
  values.to = unit.values_copy;
  values.flags = layout.looks_for_not_finite ? unit.flags : nullptr;
  if (layout.copies_values) return kernels::pack_values(values) && layout.looks_for_not_finite;
  return layout.looks_for_not_finite && kernels::find_not_finite(values);
}

kernels::Forward forward_task(const Problem& p, const PackedHead& unit, std::int64_t h) {
  const Sequence& s = *unit.piece->sequence;
  kernels::Forward t;
  t.q = p.q(s, h);
  t.width = p.sizes.width;
  t.keys = unit.panels;
  t.origin = unit.piece->first_key;
  t.value_width = p.sizes.value_width;
  t.values = unit.values_copy != nullptr ? kernels::packed_layout(unit.values_copy, unit.piece->keys)
                                         : kernels::ready_layout(values_of(p, unit));
  t.not_finite = unit.not_finite ? unit.flags : nullptr;
  t.scoring = p.scoring(s, h);
  t.dropout = p.dropout(s, h);
  t.sink = p.sink(h);
  t.out = p.out_row(s, h);
  t.out_stride = p.out.strides[2];
  t.lse = p.lse_row(s, h);
  t.lse_stride = p.lse.empty() ? 0 : p.lse.strides[2];
  t.key_count = s.keys;
  return t;
}

using PrefetchList = std::array<kernels::Prefetch, 3>;

void run_block(const Problem& p, const PackedHead& unit, std::int64_t h, RowRange range,
               const PrefetchList& prefetch = {}) {
  Workspace& work = Workspace::mine();
  const WorkPiece& piece = *unit.piece;
  const Sequence& s = *piece.sequence;
  const bool with_weights = !p.weights.empty();
  const std::int64_t stretch = std::max(
      kernels::kChunk, kStretchFloats / (p.sizes.width + p.sizes.value_width) / kernels::kChunk * kernels::kChunk);
  const std::int64_t end = piece.first_key + piece.keys;
  plan_visits({&s, h, range.first, range.rows, piece.first_key, end, with_weights ? end : stretch}, work);
  kernels::Forward t = forward_task(p, unit, h);
  t.first = range.first;
  t.rows = range.rows;
  t.segments = work.segments.data();
  t.visits = work.visits.data();
  t.visit_count = std::ssize(work.visits);
  if (with_weights) {
    t.weights = p.weights.at(s.batch, h);
    t.weight_stride = p.weights.strides[2];
    t.scratch = work.kernel.reserve(kernels::forward_with_weights_scratch(s.keys, p.sizes.value_width));
    kernels::forward_with_weights(t);
  } else {
    std::copy(prefetch.begin(), prefetch.end(), t.prefetch);
    t.scratch = work.kernel.reserve(kernels::forward_scratch(range.rows, p.sizes.value_width));
    kernels::forward(t);
  }
}

std::int64_t block_rows(const Problem& p, int threads) {
  std::int64_t rows = 0;  // of all heads
  for (const Sequence& s : p.sequences) rows += s.queries * p.sizes.heads;
  const std::int64_t most = p.weights.empty() ? kBlockRows : kBlockRowsWithWeights;
  const std::int64_t fair = rows / (threads * std::int64_t{8}) / kTileRows * kTileRows;
  return threads == 1 ? most : std::clamp(fair, kTileRows, most);
}

// Calls f for later rows first: under a causal mask they take longest, and long tasks should not come last.
template <typename F>
void for_each_block(const RowRange& range, std::int64_t block, F&& f) {
  for (std::int64_t first = (range.rows - 1) / block * block; first >= 0; first -= block) {
    f(RowRange{range.first + first, std::min(block, range.rows - first)});
  }
}

// The inputs of a task, if they are small enough to wait in the L2 cache.
PrefetchList wanted_by(const Problem& p, const PackedHead& unit) {
  const WorkPiece& piece = *unit.piece;
  const kernels::Rows q = p.q(*piece.sequence, unit.key_head * p.sizes.group());
  const PrefetchList prefetch{kernels::Prefetch(from_row(q, piece.range.first), piece.range.rows, p.sizes.width),
                              kernels::Prefetch(keys_of(p, unit), piece.keys, p.sizes.width),
                              kernels::Prefetch(values_of(p, unit), piece.keys, p.sizes.value_width)};
  std::int64_t bytes = 0;
  for (const kernels::Prefetch& rows : prefetch) bytes += rows.rows * rows.bytes;
  return bytes <= kPrefetchBytes ? prefetch : PrefetchList{};
}

// Whether all inputs are likely to be in the L2 cache already.
bool is_small(const Problem& p) {
  const Sizes& n = p.sizes;
  const std::int64_t numbers = n.heads * n.queries * n.width + n.key_heads * n.keys * (n.width + n.value_width);
  return n.batch * numbers * static_cast<std::int64_t>(sizeof(float)) <= kCachedBytes;
}

// One task per key head of a piece: it packs the keys for itself and computes all queries that use them.
void run_own(const Problem& p, const ForwardLayout& layout, std::span<const WorkPiece> pieces, ThreadPool& pool) {
  const std::int64_t tasks = std::ssize(pieces) * p.sizes.key_heads;
  const bool small = is_small(p);
  const auto unit_of = [&](std::int64_t n) {
    PackedHead unit;
    unit.piece = &pieces[static_cast<std::size_t>(n % std::ssize(pieces))];
    unit.key_head = n / std::ssize(pieces);
    return unit;
  };
  pool.run(tasks, [&](std::int64_t n, int) {
    Workspace& work = Workspace::mine();
    PackedHead unit = unit_of(n);
    const WorkPiece& piece = *unit.piece;
    unit.panels = work.panels.reserve(layout.panels);
    if (layout.copies_values) unit.values_copy = work.values.reserve(layout.values);
    work.flags.resize(static_cast<std::size_t>(layout.flags));
    unit.flags = work.flags.data();
    if (piece.keys > 0) unit.not_finite = pack(p, layout, unit, 0, piece.keys);
    const std::int64_t block = !p.weights.empty()                   ? kBlockRowsWithWeights
                               : piece.range.rows <= 2 * kBlockRows ? piece.range.rows
                                                                    : kBlockRows;
    PrefetchList prefetch;
    if (!small && n + pool.threads() < tasks) prefetch = wanted_by(p, unit_of(n + pool.threads()));
    for (std::int64_t h = 0; h < p.sizes.group(); ++h) {
      for_each_block(piece.range, block, [&](RowRange range) {
        run_block(p, unit, unit.key_head * p.sizes.group() + h, range, prefetch);
        prefetch = {};
      });
    }
    work.release();
  });
}

struct BlockTask {
  const PackedHead* unit = nullptr;
  std::int64_t head = 0;
  RowRange range;
};

// All threads pack the keys of some heads together, then take blocks of their queries as tasks.
void run_shared(const Problem& p, const ForwardLayout& layout, std::span<PackedHead> units, ThreadPool& pool) {
  const std::int64_t tiles = (layout.flags * kTileKeys + kPackTile - 1) / kPackTile;
  std::vector<std::uint8_t> found(units.size() * static_cast<std::size_t>(tiles), 0);
  pool.run(std::ssize(units) * tiles, [&](std::int64_t n, int) {
    const PackedHead& unit = units[static_cast<std::size_t>(n / tiles)];
    const std::int64_t first = n % tiles * kPackTile;
    const std::int64_t count = std::min(kPackTile, unit.piece->keys - first);
    if (count > 0) found[static_cast<std::size_t>(n)] = pack(p, layout, unit, first, count) ? 1 : 0;
  });
  const std::int64_t block = block_rows(p, pool.threads());
  std::vector<BlockTask> tasks;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const auto* flags = found.data() + u * static_cast<std::size_t>(tiles);
    units[u].not_finite = std::any_of(flags, flags + tiles, [](std::uint8_t flag) { return flag != 0; });
    for (std::int64_t h = 0; h < p.sizes.group(); ++h) {
      for_each_block(units[u].piece->range, block, [&](RowRange range) {
        tasks.push_back({&units[u], units[u].key_head * p.sizes.group() + h, range});
      });
    }
  }
  pool.run(std::ssize(tasks), [&](std::int64_t n, int) {
    const BlockTask& task = tasks[static_cast<std::size_t>(n)];
    PrefetchList prefetch;
    if (const std::int64_t next = n + pool.threads(); next < std::ssize(tasks)) {
      const BlockTask& after = tasks[static_cast<std::size_t>(next)];
      const kernels::Rows q = p.q(*after.unit->piece->sequence, after.head);
      prefetch[0] = kernels::Prefetch(from_row(q, after.range.first), after.range.rows, p.sizes.width);
    }
    run_block(p, *task.unit, task.head, task.range, prefetch);
  });
}

}  // namespace

void run_forward(const Problem& p, ThreadPool& pool) {
  const std::vector<WorkPiece> pieces = pieces_of(p);
  const ForwardLayout layout = layout_of(p, pieces);
  const std::int64_t count = std::ssize(pieces) * p.sizes.key_heads;
  const std::int64_t size = std::max<std::int64_t>(1, layout.panels + layout.values);
  if (size <= kOwnFloats && (count >= 8 * pool.threads() || p.sizes.queries <= 2 * kBlockRows)) {
    return run_own(p, layout, pieces, pool);
  }
  const std::int64_t at_once = std::clamp<std::int64_t>(kSharedFloats / size, 1, count);
  Workspace& work = Workspace::mine();
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(at_once * layout.flags));
  Floats memory = std::move(work.panels);  // tasks on this thread have scratch of their own
  float* floats = memory.reserve(at_once * (layout.panels + layout.values));
  for (std::int64_t first = 0; first < count; first += at_once) {
    std::vector<PackedHead> units;
    for (std::int64_t n = first; n < std::min(count, first + at_once); ++n) {
      const std::int64_t slot = n - first;
      float* at = floats + slot * (layout.panels + layout.values);
      units.push_back({&pieces[static_cast<std::size_t>(n / p.sizes.key_heads)], n % p.sizes.key_heads, at,
                       layout.copies_values ? at + layout.panels : nullptr, flags.data() + slot * layout.flags, false});
    }
    run_shared(p, layout, units, pool);
  }
  memory.release();
  work.panels = std::move(memory);
}

}  // namespace attn
