// engine/kernels/attention/backward_tile-inl.h - the steps of backward.cc between its products: mask, softcap, biases
// and dropout, on the register tile of kRows queries by one panel of keys.
#if defined(ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_
#undef ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_
#else
#define ATTN_ENGINE_KERNELS_ATTENTION_BACKWARD_TILE_INL_H_
#endif

#include "engine/kernels/attention/backward-inl.h"
#include "engine/kernels/attention/softmax_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

inline constexpr int kWeightStride = static_cast<int>(kGradientKeys) + 16;  // an odd number of cache lines
inline constexpr int kGroups = static_cast<int>(kGradientRows) / kRows;
static_assert(kGradientKeys / kPanel <= 64);

// A block of queries against a block of keys.
struct BackwardBlock {
  KeyMemory keys;
  float* q;      // in columns, times q_scale
  float* d_out;  // in columns
  float* lse;    // [rows]
  float* delta;
  float* p;                     // [rows][kWeightStride]: weights after dropout
  float* ds;                    // [rows][kWeightStride]: gradients of the products <q, k>
  std::int64_t rows;            // rounded up to whole groups
  std::uint64_t seen[kGroups];  // bit n: some row of the group sees some key of panel n
};

HWY_INLINE const TileCover& cover_of(const Backward& t, std::int64_t group, std::int64_t panel) {
  return t.tiles[group * kRows / kTileRows * kGradientTiles + panel * kPanel / kTileKeys];
}

// The mask of one register tile, and its place in p and ds.
struct Spot {
  Slot slot;
  std::int64_t row;  // its first row in the block
  float* p;
  float* ds;
};

HWY_INLINE Spot spot_of(const Backward& t, const BackwardBlock& b, std::int64_t group, std::int64_t panel) {
  Spot at{};
  at.row = group * kRows;
  at.p = b.p + at.row * kWeightStride + panel * kPanel;
  at.ds = b.ds + at.row * kWeightStride + panel * kPanel;
  at.slot.key = at.slot.begin = t.first_key + panel * kPanel;
  at.slot.end = std::min(at.slot.key + kPanel, t.first_key + t.block.keys);
  at.slot.tile = t.first_key + panel * kPanel / kTileKeys * kTileKeys;
  const TileCover& cover = cover_of(t, group, panel);
  if (cover.bits != nullptr) at.slot.bits = cover.bits + at.row % kTileRows;
  return at;
}

// Sets p and ds to 0 where a row does not see a key, or where there is no key.
HWY_INLINE void forbid_tile(const Spot& at) {
  for (int r = 0; r < kRows; ++r) {
    for (float* x : {at.p + r * kWeightStride, at.ds + r * kWeightStride}) {
      forbid(at.slot, r, 0.0F, x);
      std::fill(x + at.slot.width(), x + kPanel, 0.0F);
    }
  }
}

// One row whose products are not yet scores.
struct BackwardTileRow {
  std::int64_t i;  // the query
  float lse, delta;
  float* HWY_RESTRICT p;   // <q, k>, scaled; becomes the weights
  float* HWY_RESTRICT ds;  // <d_out, v>; becomes the gradients of the scores
};

// p = cap tanh(p), and slope = 1 - tanh^2(p), the derivative. A NaN has slope 0: at a forbidden pair it must not reach
// ds, which is 0 there; at an allowed one ds is NaN already.
HWY_INLINE void cap_products(float cap, float* HWY_RESTRICT p, float* HWY_RESTRICT slope) {
  const F f;
  for (std::int64_t n = 0; n < kPanel; n += lanes_of_float()) {
    const Vec x = tanh_of(hn::Load(f, p + n));
    hn::Store(finite_of(hn::NegMulAdd(x, x, hn::Set(f, 1.0F))), f, slope + n);
    hn::Store(hn::Mul(hn::Set(f, cap), x), f, p + n);
  }
}

// kept = 1 for weights that dropout keeps, 0 for the others.
HWY_INLINE void find_kept(const DropoutHash& dropout, const Slot& slot, std::int64_t i, float* kept) {
  std::fill_n(kept, kPanel, 1.0F);
  Slots slots;
  slots.at[0] = slot;
  slots.count = 1;
  drop(dropout, slots, i, kept);
}

HWY_INLINE void weigh_row(const BackwardTileRow& row) {
  const F f;
  for (std::int64_t n = 0; n < kPanel; n += lanes_of_float()) {
    const Vec p = exp2_of(hn::Sub(hn::Load(f, row.p + n), hn::Set(f, row.lse)));
    hn::Store(p, f, row.p + n);
    hn::Store(hn::Mul(p, hn::Sub(hn::Load(f, row.ds + n), hn::Set(f, row.delta))), f, row.ds + n);
  }
}

HWY_INLINE void weigh_row(const BackwardTileRow& row, const DropoutHash& dropout, const float* HWY_RESTRICT kept) {
  const F f;
  for (std::int64_t n = 0; n < kPanel; n += lanes_of_float()) {
    const Vec factor = hn::Mul(hn::Set(f, dropout.scale), hn::Load(f, kept + n));
    const Vec p = exp2_of(hn::Sub(hn::Load(f, row.p + n), hn::Set(f, row.lse)));
    const Vec dp = hn::Mul(factor, hn::Load(f, row.ds + n));
    hn::Store(hn::Mul(factor, p), f, row.p + n);
    hn::Store(hn::Mul(p, hn::Sub(dp, hn::Set(f, row.delta))), f, row.ds + n);
  }
}

// to[0, count) += from
HWY_INLINE void add_row(const float* HWY_RESTRICT from, std::int64_t count, float* HWY_RESTRICT to) {
  const F f;
  std::int64_t n = 0;
  for (; n + lanes_of_float() <= count; n += lanes_of_float()) {
    hn::StoreU(hn::Add(hn::LoadU(f, to + n), hn::Load(f, from + n)), f, to + n);
  }
  for (; n < count; ++n) to[n] += from[n];
}

// From the stored products <q, k> and <d_out, v> to p and ds: softcap, biases, dropout, mask; also adds to the
// gradients of the biases.
HWY_NOINLINE void finish_tile(const Backward& t, const BackwardBlock& b, const Spot& at) {
  const F f;
  HWY_ALIGN float slope[kRows * kPanel];
  HWY_ALIGN float kept[kPanel];
  Scoring added = t.scoring;
  added.softcap = 0;
  for (int r = 0; r < kRows; ++r) {
    const BackwardTileRow row{t.first + at.row + r, b.lse[at.row + r], b.delta[at.row + r], at.p + r * kWeightStride,
                              at.ds + r * kWeightStride};
    if (t.scoring.softcap != 0) cap_products(t.scoring.softcap, row.p, slope + r * kPanel);
    if (at.row + r < t.rows) adjust_scores(added, at.slot, row.i, row.p);
    if (t.dropout.threshold != 0) {
      find_kept(t.dropout, at.slot, row.i, kept);
      weigh_row(row, t.dropout, kept);
    } else {
      weigh_row(row);
    }
  }
  forbid_tile(at);
  for (int r = 0; r < kRows && at.row + r < t.rows; ++r) {
    float* ds = at.ds + r * kWeightStride;
    const std::int64_t i = t.first + at.row + r, keys = at.slot.end - at.slot.key;
    if (t.d_bias != nullptr) add_row(ds, keys, t.d_bias + (at.slot.key - i));
    if (t.d_dense != nullptr) add_row(ds, keys, t.d_dense + i * t.d_dense_stride + at.slot.key);
    if (t.scoring.softcap == 0) continue;
    for (std::int64_t n = 0; n < kPanel; n += lanes_of_float()) {
      hn::Store(hn::Mul(hn::Load(f, ds + n), hn::Load(f, slope + r * kPanel + n)), f, ds + n);
    }
  }
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
