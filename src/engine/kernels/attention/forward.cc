// engine/kernels/attention/forward.cc - fused attention of one block of queries of one head.
//
//   out[i] = sum_j p[i,j] v[j]      p[i,j] = exp2(s[i,j] - base[i]) / sum_j exp2(s[i,j] - base[i])
//   lse[i] = log sum_j exp(score[i,j])      s[i,j] = score[i,j] log2(e)
//
// Scores are in units of log 2, so that the softmax needs exp2 only: the factor log2(e) is folded into q when the block
// is loaded. The N x M table never exists. The block visits its keys in chunks of at most 256 and keeps, per query, the
// base, sum_j exp2(s - base) and sum_j exp2(s - base) v: the online softmax (Milakov & Gimelshein, 2018).
//
// Memory. K lies in panels [D][2 vectors] (pack.h): for every d, the numbers of as many keys as two vectors hold. V is
// read in place or in columns of two vectors. Both give the register tile vectors side by side, while q (rows) and the
// scores s [12][256] are broadcast number by number. 12 x 256 scores are 12 KB: they stay in the L1 cache between
// the two products.
//
// Loop. A visit is one row of tiles (12 queries) against one chunk of keys. Its rows go through all steps in groups as
// high as the register tile (absorb): s = q k^T; softcap, biases and mask; the largest score per row; s = exp2(s -
// base) and its sum; dropout; o += s v. Tiles that the mask hides are never visited, so their cost is 0.
//
// The base need not be the largest score, only near enough to it that exp2 neither overflows nor vanishes (kSlack in
// softmax_steps-inl.h). It is 0 for nearly every row, which saves a subtraction per score and rescaling o per chunk.
// Only when a base moves, sum and o are multiplied by exp2(old - new). Division by the sum and the logarithm come once,
// at the end.
#include "engine/kernels/attention/forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/kernels/attention/forward_block-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// The running state of a block, in scratch memory.
struct ForwardBlock {
  float* q;      // [rows][kQueryStride], scaled
  float* s;      // [kTileRows][kScoreStride]: scores of one chunk, then their powers
  float* base;   // [rows]: subtracted from the scores before exp2; kNever: no key seen yet
  float* sum;    // [rows][lanes]: sum of exp2(score - base)
  float* o;      // [rows][E padded]: sum of exp2(score - base) v
  float* clean;  // [kChunk][E padded]: see Values
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

// Prefetches rows into the second cache, a few cache lines per step, spread over `steps` steps of the computation. All
// at once would only queue up.
template <int kForWriting>
class Fetcher {
 public:
  Fetcher(const Prefetch* prefetch, int count, std::int64_t steps) : prefetch_(prefetch), end_(prefetch + count) {
    std::int64_t lines = 0;
    for (int n = 0; n < count; ++n) lines += prefetch[n].rows * ((prefetch[n].bytes + 63) / 64);
    share_ = steps == 0 ? 0 : (lines + steps - 1) / steps;
  }
  HWY_INLINE void step() {
    for (std::int64_t n = 0; kCanPrefetch && n < share_ && prefetch_ != end_; ++n) {
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

// Inputs of the next task, and output rows of this one. One step per row of every visit.
struct PrefetchQueue {
  Fetcher<0> next;
  Fetcher<1> out;

  HWY_INLINE void step() {
    next.step();
    out.step();
  }
};

// How a chunk changes the bases of its rows.
struct Bases {
  bool fresh = true;   // no row has seen a key before
  bool zero = true;    // all new bases are 0
  bool moved = false;  // the sums of some row must be rescaled
};

// base holds the largest score of each row and becomes the new base. Nearly always all of them are 0.
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

// Adds one chunk of keys to `rows` rows of the block; rows <= R. `from` is the first of them within the row of tiles.
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
  // In a loop of its own: interleaved, the exp2 of a row would delay the largest score of the next.
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

// Divides by the sums and writes out and lse, one vector of rows per logarithm.
HWY_INLINE void finish(const Forward& t, const ForwardBlock& block) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t width = round_up(t.value_width, lanes);
  float* total = block.s;  // the scores are no longer needed
  float* top = block.base;
  float sum[4];
  for (std::int64_t r = 0; r < t.rows; ++r) {
    if (r % 4 == 0) {  // scratch is padded to whole tiles, so reading four rows is safe
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
  const bool cached = t.prefetch[0].data == nullptr;  // if there is nothing to prefetch, out is small as well
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
