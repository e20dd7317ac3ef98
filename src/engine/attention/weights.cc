// engine/attention/weights.cc - rebuilds windows of the table of weights from q, k and lse.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "attn/attention.h"
#include "engine/attention/problem.h"
#include "engine/kernels/attention/pack.h"
#include "engine/kernels/attention/rebuild.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

void check_window(const Sizes& n, const Rectangle& window, const Shape<4>& shape) {
  check_shape("weights", shape, {n.batch, n.heads, shape[2], shape[3]});
  if (window.row >= 0 && window.col >= 0 && window.row + shape[2] <= n.queries && window.col + shape[3] <= n.keys)
    return;
  throw std::invalid_argument("weights: rows " + std::to_string(window.row) + " to " +
                              std::to_string(window.row + shape[2]) + " and keys " + std::to_string(window.col) +
                              " to " + std::to_string(window.col + shape[3]) +
                              " do not lie within N, M = " + std::to_string(n.queries) + ", " + std::to_string(n.keys));
}

// The mask of rows that need not start at a tile of a plan.
class WindowMask {
 public:
  explicit WindowMask(const Options& options) : mask_(options.mask), plan_(options.plan) {}

  // Bits of query i for the keys from j on, a multiple of 64. Keys from at.j1 on are not packed: their bits are 0.
  [[nodiscard]] std::uint64_t row(const Tile& at, std::int64_t i, std::int64_t j) const {
    const std::int64_t left = at.j1 - j;
    const std::uint64_t real = left >= kTileKeys ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
    return real & (plan_ != nullptr ? planned(at, i, j) : mask_.row(at.b, at.h, i, j));
  }
  [[nodiscard]] Cover cover(const Tile& tile) const { return plan_ != nullptr ? Cover::some : mask_.cover(tile); }

 private:
  [[nodiscard]] std::uint64_t planned(const Tile& at, std::int64_t i, std::int64_t j) const {
    const auto spans = plan_->row(at.b, at.h, i / kTileRows);
    const auto after = std::upper_bound(spans.begin(), spans.end(), j / kTileKeys,
                                        [](std::int64_t tile, const TileSpan& span) { return tile < span.first; });
    if (after == spans.begin() || j / kTileKeys >= (after - 1)->last) return 0;
    const TileSpan& span = *(after - 1);
    if (span.bits == TileSpan::kFull) return ~std::uint64_t{0};
    if (span.bits == TileSpan::kMixed) return plan_->mask().row(at.b, at.h, i, j);
    return plan_->bits(span.bits)[i % kTileRows];
  }

  const Mask& mask_;
  const TilePlan* plan_;
};

// Plans visits of at most kTileRows rows to the key tiles [begin, end), one per chunk.
void window_visits(const WindowMask& mask, const Tile& tile, Workspace& work) {
  work.segments.clear();
  work.visits.clear();
  work.bits.clear();
  const auto rows = static_cast<std::int32_t>(tile.i1 - tile.i0);
  const std::int64_t tiles = (tile.j1 - tile.j0 + kTileKeys - 1) / kTileKeys;
  work.bits.reserve(static_cast<std::size_t>(tiles * kTileRows));  // segments point into it
  for (std::int64_t j = tile.j0; j < tile.j1; j += kTileKeys) {
    const std::int64_t keys = std::min(kTileKeys, tile.j1 - j);
    const Cover cover = mask.cover({tile.b, tile.h, tile.i0, tile.i1, j, j + keys});
    if (cover == Cover::none) continue;
    const std::uint64_t* bits = nullptr;
    if (cover == Cover::some) {
      bits = work.bits.data() + work.bits.size();
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        work.bits.push_back(tile.i0 + r < tile.i1 ? mask.row(tile, tile.i0 + r, j) : 0);
      }
    }
    if (work.visits.empty() || work.visits.back().count == kernels::kChunk / kTileKeys) {
      work.visits.push_back({0, rows, static_cast<std::int32_t>(work.segments.size()), 0});
    }
    work.segments.push_back({j, keys, bits});
    ++work.visits.back().count;
  }
}

struct WindowTask {
  const Problem& problem;
  const WindowMask& mask;
  View<const float, 3> lse;
  Rectangle window;
  View<float, 4> weights;
  const float* panels = nullptr;
  std::int64_t origin = 0;

  // Rows [r, r + kTileRows) of the window.
  void run(const Sequence& s, std::int64_t h, std::int64_t r) const {
    Workspace& work = Workspace::mine();
    kernels::Rebuild t;
    t.first = window.row + r;
    t.rows = std::min(kTileRows, weights.shape[2] - r);
    t.begin = window.col;
    t.end = window.col + weights.shape[3];
    window_visits(mask, {s.number, h, t.first, t.first + t.rows, origin, t.end}, work);
    t.q = problem.q(s, h);
    t.width = problem.sizes.width;
    t.keys = panels;
    t.origin = origin;
    t.scoring = problem.scoring(s, h);
    t.segments = work.segments.data();
    t.visits = work.visits.data();
    t.visit_count = std::ssize(work.visits);
    t.lse = lse.at(s.batch, h);
    t.lse_stride = lse.strides[2];
    t.to = weights.at(s.batch, h, r);
    t.stride = weights.strides[2];
    t.scratch = work.kernel.reserve(kernels::rebuild_scratch());
    kernels::rebuild(t);
  }
};

}  // namespace

void weights(const Inputs& in, const Options& options, View<const float, 3> lse, Rectangle window,
             View<float, 4> weights, ThreadPool& pool) {
  const Sizes n = check_keys(in);
  check_options(options, n);
  check_shape("lse", lse.shape, {n.batch, n.heads, n.queries});
  check_dense_last("lse", lse.strides[2], n.queries);
  check_present("weights", weights.data, weights.shape);
  check_present("lse", lse.data, {n.batch, n.heads, n.queries, 1});
  check_window(n, window, weights.shape);
  check_dense_last("weights", weights.strides[3], weights.shape[3]);
  options.mask.check({n.batch, n.heads, n.queries, n.keys});
  if (weights.size() == 0) return;
  Problem problem = make_problem(in, options, n);
  add_batch(problem, nullptr);  // a window needs no plan of the whole
  const WindowMask mask(options);
  WindowTask task{problem, mask, lse, window, weights};
  task.origin = window.col / kTileKeys * kTileKeys;
  const std::int64_t keys = window.col + weights.shape[3] - task.origin;
  Floats memory;
  float* panels = memory.reserve(kernels::panel_floats(keys, n.width));
  task.panels = panels;
  const std::int64_t row_tiles = (weights.shape[2] + kTileRows - 1) / kTileRows;
  for (const Sequence& s : problem.sequences) {
    for (std::int64_t g = 0; g < n.key_heads; ++g) {
      const kernels::Rows k = from_row(problem.k(s, g), task.origin);
      pool.run((keys + kPackTile - 1) / kPackTile, [&](std::int64_t part, int) {
        kernels::pack_keys({k, part * kPackTile, std::min(kPackTile, keys - part * kPackTile), n.width, panels});
      });
      pool.run(n.group() * row_tiles,
               [&](std::int64_t t, int) { task.run(s, g * n.group() + t / row_tiles, t % row_tiles * kTileRows); });
    }
  }
}

}  // namespace attn
