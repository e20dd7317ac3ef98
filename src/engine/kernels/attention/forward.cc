// engine/kernels/attention/forward.cc - online softmax (Milakov & Gimelshein, 2018) over the chunks that a block
// visits.
#include "engine/kernels/attention/forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/kernels/attention/forward_block-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// What a block knows of its rows so far.
struct ForwardBlock {
  float* q;      // [rows][kQueryStride], scaled
  float* s;      // [kTileRows][kScoreStride]
  float* base;   // [rows]: what powers are relative to
  float* sum;    // [rows][lanes]: sum of exp2(score - base)
  float* o;      // [rows][E padded]: sum of exp2(score - base) v
  float* clean;  // [kChunk][E padded]
};

HWY_INLINE std::int64_t padded_rows(std::int64_t rows) { return round_up(rows, kTileRows); }

std::int64_t scratch_floats(std::int64_t rows, std::int64_t value_width) {
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t padded = padded_rows(rows);
  return padded * kQueryStride + kTileRows * kScoreStride + round_up(padded, 16) + padded * lanes +
         (padded + kChunk) * round_up(value_width, lanes);
}

HWY_INLINE ForwardBlock lay_out(const Forward& t) {
  const std::int64_t padded = padded_rows(t.rows);
  ForwardBlock block{};
  block.q = t.scratch;
  block.s = block.q + padded * kQueryStride;
  block.base = block.s + kTileRows * kScoreStride;
  block.sum = block.base + round_up(padded, 16);
  block.o = block.sum + padded * lanes_of_float();
  block.clean = block.o + padded * round_up(t.value_width, lanes_of_float());
  return block;
}

// Fetches memory that will be wanted, a few lines at a time, while there is something better to do than to wait for it.
// Many at once would only queue up.
template <int kForWriting>
class Fetcher {
 public:
  Fetcher(const Prefetch* prefetch, int count, std::int64_t steps) : prefetch_(prefetch), end_(prefetch + count) {
    std::int64_t lines = 0;
    for (int n = 0; n < count; ++n) lines += prefetch[n].rows * ((prefetch[n].bytes + 63) / 64);
    share_ = steps == 0 ? 0 : (lines + steps - 1) / steps;
  }
  HWY_INLINE void step() {
    for (std::int64_t n = 0; n < share_ && prefetch_ != end_; ++n) {
      if (row_ == prefetch_->rows) {
        ++prefetch_;
        row_ = byte_ = 0;
        continue;
      }
      __builtin_prefetch(static_cast<const std::uint8_t*>(prefetch_->data) + row_ * prefetch_->stride + byte_,
                         kForWriting, 2);
      byte_ += 64;
      if (byte_ >= prefetch_->bytes) {
        byte_ = 0;
        ++row_;
      }
    }
  }

 private:
  const Prefetch* prefetch_;
  const Prefetch* end_;
  std::int64_t row_ = 0, byte_ = 0;
  std::int64_t share_ = 0;
};

// A step for every row of every visit.
struct PrefetchQueue {
  Fetcher<0> next;
  Fetcher<1> out;

  HWY_INLINE void step() {
    next.step();
    out.step();
  }
};

// What a chunk does to the bases of its rows.
struct Bases {
  bool fresh = true;   // no row had seen anything
  bool zero = true;    // all are 0
  bool moved = false;  // some row's sums must shrink
};

// Turns the largest scores of `rows` rows into their new bases. Nearly always all of them are 0.
HWY_INLINE Bases choose_bases(const float* HWY_RESTRICT before, int rows, float* HWY_RESTRICT base) {
  Bases bases;
  for (int r = 0; r < rows; ++r) {
    const bool fresh = before[r] == kNever;
    bases.fresh &= fresh;
    bases.zero &= base[r] <= kSlack && ((fresh && base[r] >= -kSlack) || before[r] == 0);
  }
  if (HWY_LIKELY(bases.zero)) {
    std::fill_n(base, rows, 0.0F);
    return bases;
  }
  for (int r = 0; r < rows; ++r) {
    base[r] = base_for(before[r], base[r]);
    bases.moved |= base[r] != before[r] && before[r] != kNever;
  }
  return bases;
}

// Takes one chunk of keys into rows [row, row + rows) of the block; rows <= R. from is the first of them in the tile.
template <int R>
HWY_NOINLINE void absorb(const Forward& t, const ForwardBlock& block, PrefetchQueue& prefetches, const Visit& visit,
                         int from, int rows) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const Slots slots = place(t.segments, visit, from, rows);
  if (slots.count == 0) return;
  const std::int64_t row = visit.row + from;
  for (int n = 0; n < slots.count; ++n) {
    multiply_keys<R>(block.q + row * kQueryStride, keys_of(t), slots.at[n], block.s);
  }

  if (!are_scores(t.scoring, slots)) {
    for (int r = 0; r < rows; ++r) {
      finish_scores(t.scoring, slots, r, t.first + row + r, block.s + r * kScoreStride);
    }
  }

  HWY_ALIGN float base[R + 3];
  HWY_ALIGN float shrink[R];
  largest_of_rows<R>(block.s, slots.width, base);
  const Bases bases = choose_bases(block.base + row, rows, base);
  if (HWY_UNLIKELY(bases.moved)) {
    for (int r = 0; r < R; ++r) {
      const bool moves = r < rows && block.base[row + r] != kNever;
      shrink[r] = moves ? exp2_of(block.base[row + r] - base[r]) : 1.0F;
    }
  }
  // After all bases: a row's powers would keep the next row's largest score waiting.
  for (int r = 0; r < rows; ++r) {
    float* scores = block.s + r * kScoreStride;
    float* total = block.sum + (row + r) * lanes;
    const Vec sum =
        bases.zero ? exponentiate_from<false>(scores, slots.width, 0) : exponentiate(scores, slots.width, base[r]);
    const Vec before = hn::Load(f, total);
    hn::Store(bases.moved ? hn::MulAdd(hn::Set(f, shrink[r]), before, sum) : hn::Add(before, sum), f, total);
    block.base[row + r] = base[r];
    prefetches.step();
  }
  if (t.dropout.threshold != 0) {
    for (int r = 0; r < rows; ++r) drop(t.dropout, slots, t.first + row + r, block.s + r * kScoreStride);
  }

  const Values v = values_of(t, block.clean);
  multiply_values<R>(block.s, slots, v, rows, Before{bases.fresh, bases.moved ? shrink : nullptr},
                     block.o + row * v.width);
}

struct Absorb {
  const Forward& t;
  const ForwardBlock& block;
  PrefetchQueue& prefetches;
  const Visit& visit;
  template <int R>
  HWY_INLINE void run(int from, int rows) const {
    absorb<R>(t, block, prefetches, visit, from, rows);
  }
};

// Divides by the sums. The logarithms of all rows are taken together.
HWY_INLINE void finish(const Forward& t, const ForwardBlock& block) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t width = round_up(t.value_width, lanes);
  float* total = block.s;  // nobody needs the scores any more
  float* top = block.base;
  float sum[4];
  for (std::int64_t r = 0; r < t.rows; ++r) {
    if (r % 4 == 0) {  // there is room for whole tiles of rows
      Vec sums[4];
      for (int n = 0; n < 4; ++n) sums[n] = hn::Load(f, block.sum + (r + n) * lanes);
      reduce_four(sums, sum, Sum());
    }
    const Outcome outcome = conclude(sum[r % 4], block.base[r], t.sink);
    write_row(t, t.first + r, block.o + r * width, outcome.factor);
    total[r] = outcome.total;
    top[r] = outcome.top;
  }
  if (t.lse == nullptr) return;
  for (std::int64_t r = 0; r < t.rows; r += lanes) {
    HWY_ALIGN float lse[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(lse_of(hn::LoadU(f, top + r), hn::LoadU(f, total + r)), f, lse);
    for (std::int64_t n = r; n < std::min(r + lanes, t.rows); ++n) t.lse[(t.first + n) * t.lse_stride] = lse[n - r];
  }
}

void run(const Forward& t) {
  const FlushDenormals guard;
  const ForwardBlock block = lay_out(t);
  const std::int64_t padded = padded_rows(t.rows);
  std::fill_n(block.base, round_up(padded, 16), kNever);
  std::fill_n(block.sum, padded * lanes_of_float(), 0.0F);
  load_queries(t, 0, t.rows, block.q);
  const Prefetch out(Rows{t.out + t.first * t.out_stride, t.out_stride, Element::float32}, t.rows, t.value_width);
  const std::int64_t steps = t.visit_count * std::min(t.rows, kTileRows);
  const bool cached = t.prefetch[0].data == nullptr;  // where nothing is to be fetched, out is small as well
  PrefetchQueue prefetches{Fetcher<0>(t.prefetch, 3, steps), Fetcher<1>(&out, cached ? 0 : 1, steps)};
  for (std::int64_t n = 0; n < t.visit_count; ++n) {
    for_each_group(t.visits[n].rows, Absorb{t, block, prefetches, t.visits[n]});
  }
  finish(t, block);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(scratch_floats);
HWY_EXPORT(run);

std::int64_t forward_scratch(std::int64_t rows, std::int64_t value_width) noexcept {
  return HWY_DYNAMIC_DISPATCH(scratch_floats)(rows, value_width);
}
void forward(const Forward& task) noexcept { HWY_DYNAMIC_DISPATCH(run)(task); }
}  // namespace attn::kernels
#endif
