// engine/kernels/attention/forward_with_weights.cc - attention that also writes its weights.
//
//   weights[i,j] = p[i,j] = exp2(s[i,j] - base[i]) / sum_j exp2(s[i,j] - base[i]), 0 where the mask forbids
//   out[i] = sum_j p[i,j] v[j], lse as in forward.cc
//
// Here a row's final sum must be known before its first weight is written, so the online softmax of forward.cc would
// write the table twice. Instead, all scores of one row of tiles (12 queries, all keys) stay in scratch memory, chunk
// by chunk: s [chunks][12][256] floats, 3 MB at 65,536 keys. Each of them is computed once and written once.
//
// Loop. For every group of rows that fills a register tile:
//   score    s = q k^T, softcap, biases and mask for all chunks; the largest score per row
//   soften   s = exp2(s - base), with one base per row for all chunks; the sum per row
//   run      per chunk: write weights = s / sum to the table, and o += s v
// The table has N x M floats and does not fit in a cache. So a few of its rows are written before each pass over two
// vectors of columns of V: memory takes them in while the pass computes. With dropout, all rows of a chunk are written
// before they are dropped, because the table shows the weights before dropout.
#include "engine/kernels/attention/forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/forward_with_weights.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/kernels/attention/forward_block-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

constexpr std::int64_t kChunkFloats = kTileRows * kScoreStride;

std::int64_t table_scratch_floats(std::int64_t keys, std::int64_t value_width) {
  const std::int64_t chunks = (keys + kChunk - 1) / kChunk;
  return kTileRows * kQueryStride + chunks * kChunkFloats +
         (kTileRows + kChunk) * round_up(value_width, lanes_of_float());
}

// One row of tiles: all of its visits.
struct TileRow {
  const Forward& t;
  const Visit* visits;
  int count;
  float* q;
  float* s;  // kChunkFloats per visit
  float* o;
  float* clean;  // [kChunk][E padded]: see Values

  [[nodiscard]] HWY_INLINE Slots slots(int n, int from, int rows) const {
    return place(t.segments, visits[n], from, rows);
  }

  template <int R>
  HWY_NOINLINE void run(int from, int rows) const {
    float peak[R];
    score<R>(from, rows, peak);
    Outcome outcome[R];
    soften<R>(from, rows, peak, outcome);
    const Values v = values_of(t, clean);
    std::int64_t done = 0;  // keys [0, done) of the table are written
    for (int n = 0; n < count; ++n) {
      const Slots here = slots(n, from, rows);
      float* chunk = s + n * kChunkFloats;
      const auto write = [&](int r) HWY_ATTR {
        write_weights(chunk + r * kScoreStride, here, outcome[r].factor, done, table_row(from, r));
      };
      if (t.dropout.threshold != 0) {
        for (int r = 0; r < rows; ++r) {
          write(r);
          drop(t.dropout, here, query(from, r), chunk + r * kScoreStride);
        }
      }
      // Spreads the rows of the table evenly over the passes of multiply_values.
      int written = t.dropout.threshold != 0 ? rows : 0;
      const auto write_some = [&](std::int64_t e) HWY_ATTR {
        const auto until = static_cast<int>(rows * std::min(v.width, e + 2 * lanes_of_float()) / v.width);
        for (; written < until; ++written) write(written);
      };
      multiply_values<R>(chunk, here, v, rows, Before{n == 0, nullptr}, o, write_some);
      if (here.count > 0) done = here.at[here.count - 1].end;
    }
    for (int r = 0; r < rows; ++r) std::fill(table_row(from, r) + done, table_row(from, r) + t.key_count, 0.0F);
    for (int r = 0; r < rows; ++r) {
      write_row(t, query(from, r), o + r * v.width, outcome[r].factor);
      if (t.lse != nullptr) t.lse[query(from, r) * t.lse_stride] = lse_of(outcome[r]);
    }
  }

 private:
  [[nodiscard]] HWY_INLINE std::int64_t query(int from, int r) const { return t.first + visits[0].row + from + r; }

  template <int R>
  HWY_INLINE void score(int from, int rows, float* peak) const {
    std::fill_n(peak, R, kNever);
    for (int n = 0; n < count; ++n) {
      const Slots here = slots(n, from, rows);
      float* chunk = s + n * kChunkFloats;
      for (int m = 0; m < here.count; ++m) {
        multiply_keys<R>(q + from * kQueryStride, keys_of(t), here.at[m], chunk);
      }
      if (!are_scores(t.scoring, here)) {
        for (int r = 0; r < rows; ++r) finish_scores(t.scoring, here, r, query(from, r), chunk + r * kScoreStride);
      }
      HWY_ALIGN float largest[R + 3];
      largest_of_rows<R>(chunk, here.width, largest);
      for (int r = 0; r < rows; ++r) peak[r] = std::max(peak[r], largest[r]);
    }
  }

  // Replaces scores by exp2(score - base), with one base for all chunks of a row.
  template <int R>
  HWY_INLINE void soften(int from, int rows, const float* peak, Outcome* outcome) const {
    Vec sum[R];
    for (int r = 0; r < rows; ++r) sum[r] = hn::Zero(F());
    for (int n = 0; n < count; ++n) {
      const std::int64_t width = slots(n, from, rows).width;
      for (int r = 0; r < rows; ++r) {
        float* scores = s + n * kChunkFloats + r * kScoreStride;
        sum[r] = hn::Add(sum[r], exponentiate(scores, width, base_for(kNever, peak[r])));
      }
    }
    for (int r = 0; r < rows; ++r) {
      outcome[r] = conclude(hn::GetLane(hn::SumOfLanes(F(), sum[r])), base_for(kNever, peak[r]), t.sink);
    }
  }

  [[nodiscard]] HWY_INLINE float* table_row(int from, int r) const {
    return t.weights + query(from, r) * t.weight_stride;
  }

  // Writes one chunk of a row of the table from key `done` on, with zeros between the slots.
  HWY_INLINE void write_weights(const float* row, const Slots& here, float factor, std::int64_t done, float* to) const {
    for (int m = 0; m < here.count; ++m) {
      const Slot& slot = here.at[m];
      std::fill(to + done, to + slot.begin, 0.0F);
      scale_row(row + slot.at + (slot.begin - slot.key), slot.end - slot.begin, factor, to + slot.begin);
      done = slot.end;
    }
  }
};

void run_table(const Forward& t) {
  const FlushDenormals guard;
  float* q = t.scratch;
  float* o = q + kTileRows * kQueryStride;
  float* clean = o + kTileRows * round_up(t.value_width, lanes_of_float());
  float* s = clean + kChunk * round_up(t.value_width, lanes_of_float());
  std::int64_t n = 0;
  for (std::int32_t row = 0; row < t.rows; row += kTileRows) {
    std::int64_t end = n;
    while (end < t.visit_count && t.visits[end].row == row) ++end;
    const Visit nothing{row, static_cast<std::int32_t>(std::min(kTileRows, t.rows - row)), 0, 0};
    const Visit* visits = end > n ? t.visits + n : &nothing;
    load_queries(t, row, visits->rows, q);
    for_each_group(visits->rows, TileRow{t, visits, static_cast<int>(end - n), q, s, o, clean});
    n = end;
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(table_scratch_floats);
HWY_EXPORT(run_table);

std::int64_t forward_with_weights_scratch(std::int64_t keys, std::int64_t value_width) noexcept {
  return HWY_DYNAMIC_DISPATCH(table_scratch_floats)(keys, value_width);
}
void forward_with_weights(const Forward& task) noexcept { HWY_DYNAMIC_DISPATCH(run_table)(task); }
}  // namespace attn::kernels
#endif
