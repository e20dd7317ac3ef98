// engine/kernels/attention/rebuild.cc - weights rebuilt from q, k and lse, for one window of the table.
//
//   p[i,j] = exp(score[i,j] - lse[i]) = exp2(s[i,j] - lse[i] log2(e)), 0 where the mask forbids
//
// This is why the engine never stores the N x M table: one number per row, lse, turns any score back into its weight.
// Neither a sum nor a second pass over the keys is needed, so the cost of a window is its own size times D.
//
// Scores come from the same steps in the same order as in forward.cc (multiply_keys, finish_scores), so they have the
// same bits. All that is lost is the rounding of lse; it could make the largest weight of a row exceed 1, hence the
// min.
//
// Memory and loop are those of forward.cc without values: at most 12 queries, scaled, in scratch; keys in panels; per
// visit a chunk of scores [12][256], turned into weights in place, of which the keys inside the window are copied out.
// Keys that no visit covers are masked: the window's rows are cleared first.
#include "engine/kernels/attention/rebuild.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/rebuild.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/kernels/attention/forward_block-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// s = exp2(s - lse log2(e)), at most 1 despite the rounding of lse.
HWY_INLINE void weigh(float* HWY_RESTRICT s, std::int64_t count, float lse) {
  const F f;
  const Vec top = hn::Set(f, lse == kNever ? 0.0F : lse);
  for (std::int64_t j = 0; j < count; j += lanes_of_float()) {
    const Vec t = hn::NegMulAdd(top, hn::Set(f, kLog2E), hn::Load(f, s + j));
    hn::Store(exp2_of(hn::Min(hn::Zero(f), t)), f, s + j);
  }
}

struct RebuildGroup {
  const Rebuild& t;
  const Visit& visit;
  const float* q;
  float* s;

  template <int R>
  HWY_NOINLINE void run(int from, int rows) const {
    const Slots slots = place(t.segments, visit, from, rows);
    for (int n = 0; n < slots.count; ++n) {
      multiply_keys<R>(q + from * kQueryStride, Keys{t.keys, t.width, t.origin}, slots.at[n], s);
    }
    for (int r = 0; r < rows; ++r) {
      const std::int64_t i = t.first + from + r;
      float* row = s + r * kScoreStride;
      finish_scores(t.scoring, slots, r, i, row);
      weigh(row, slots.width, t.lse[i * t.lse_stride]);
      for (int n = 0; n < slots.count; ++n) write(slots.at[n], row, from + r);
    }
  }

 private:
  HWY_INLINE void write(const Slot& slot, const float* row, int r) const {
    const std::int64_t begin = std::max(slot.begin, t.begin);
    const std::int64_t end = std::min(slot.end, t.end);
    if (begin >= end) return;
    std::copy_n(row + slot.at + (begin - slot.key), end - begin, t.to + r * t.stride + (begin - t.begin));
  }
};

void run_rebuild(const Rebuild& t) {
  const FlushDenormals guard;
  float* q = t.scratch;
  float* s = q + kTileRows * kQueryStride;
  Forward queries;
  queries.q = t.q;
  queries.width = t.width;
  queries.scoring = t.scoring;
  queries.first = t.first;
  load_queries(queries, 0, t.rows, q);
  for (std::int64_t r = 0; r < t.rows; ++r) std::fill_n(t.to + r * t.stride, t.end - t.begin, 0.0F);
  for (std::int64_t n = 0; n < t.visit_count; ++n) {
    for_each_group(static_cast<int>(t.rows), RebuildGroup{t, t.visits[n], q, s});
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(run_rebuild);

std::int64_t rebuild_scratch() noexcept { return kTileRows * (kMaxWidth + 16 + kChunk); }
void rebuild(const Rebuild& task) noexcept { HWY_DYNAMIC_DISPATCH(run_rebuild)(task); }
}  // namespace attn::kernels
#endif
