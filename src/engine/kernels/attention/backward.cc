// engine/kernels/attention/backward.cc - gradients of one block of queries against one block of keys.
//
//   p[i,j]  = exp2(s[i,j] - lse[i])                     rebuilt; s is the score in units of log 2
//   ds[i,j] = p[i,j] (<d_out[i], v[j]> - delta[i])      delta[i] = <d_out[i], out[i]> - d_lse[i]
//   dq[i] += scale sum_j ds[i,j] k[j]      dk[j] += sum_i ds[i,j] q[i]      dv[j] += sum_i p[i,j] d_out[i]
//
// These are five products: q k^T and d_out v^T (weigh), ds k (add_queries), p^T d_out and ds^T q (add_keys). A block is
// at most 48 queries by 384 keys. Its p and ds take 48 x 400 floats each, 150 KB together, and stay in the L2 cache
// between the products. dk and dv of the keys are summed in memory of the block of keys, which one task keeps while all
// queries pass by (begin_keys, backward ..., end_keys); dq is read, added to and written back once per block.
//
// Memory. The first two products multiply rows by keys and values in panels [D][2 vectors], as forward.cc does. The
// other three read q, d_out, k and their sums in "columns" (backward-inl.h): [width / panel][rows][panel], where a
// panel is two vectors. p and ds are plain rows: for dq the register tile broadcasts along a row (add_product), for dk
// and dv down a column (add_transposed), so that nothing is transposed.
//
// Loop. The unit of weigh is kRows queries by one panel of keys, the size of a register tile. Without softcap, bias and
// dropout (is_plain), p and ds are computed straight from the registers. For every group of kRows queries, one bit per
// panel says whether any row sees any of its keys (seen). Panels that no row sees are skipped in all five products, and
// for_each_run multiplies neighbouring visible panels as one deep product.
//
// dq is scaled through k (key_columns holds scale k). q is scaled by q_scale = scale log2(e) for the scores; end_keys
// divides dk by log2(e) again.
#include "engine/kernels/attention/backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>

#include "engine/kernels/attention/backward_tile-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

std::int64_t scratch_floats(std::int64_t width, std::int64_t value_width) {
  return column_floats(kGradientRows, width) + column_floats(kGradientRows, value_width) +
         kGradientRows * (2 + 2 * kWeightStride);
}

// Not 0 if some row of the group sees a key of the panel; with a mask, bit t is set for key t.
HWY_INLINE std::uint64_t any_seen(const TileCover& cover, std::int64_t group, std::int64_t panel) {
  if (!cover.seen || cover.bits == nullptr) return cover.seen ? 1 : 0;
  std::uint64_t any = 0;
  for (int r = 0; r < kRows; ++r) any |= cover.bits[group * kRows % kTileRows + r];
  return any >> static_cast<unsigned>(panel * kPanel % kTileKeys) & ((std::uint64_t{1} << kPanel) - 1);
}

HWY_INLINE BackwardBlock lay_out(const Backward& t) {
  BackwardBlock b{};
  b.keys = lay_out_keys(t.block);
  b.rows = round_up(t.rows, kRows);
  b.p = t.scratch;
  b.ds = b.p + kGradientRows * kWeightStride;
  b.q = b.ds + kGradientRows * kWeightStride;
  b.d_out = b.q + column_floats(kGradientRows, t.block.width);
  b.lse = b.d_out + column_floats(kGradientRows, t.block.value_width);
  b.delta = b.lse + kGradientRows;
  copy_columns({t.q, t.first, t.rows, t.block.width, t.scoring.q_scale}, b.rows, b.q);
  copy_columns({t.d_out, t.first, t.rows, t.block.value_width, 1.0F}, b.rows, b.d_out);
  std::copy_n(t.lse + t.first, t.rows, b.lse);
  std::copy_n(t.delta + t.first, t.rows, b.delta);
  std::fill(b.lse + t.rows, b.lse + b.rows, -kNever);  // weights of 0
  std::fill(b.delta + t.rows, b.delta + b.rows, 0.0F);
  for (std::int64_t g = 0; g < b.rows / kRows; ++g) {
    for (std::int64_t n = 0; n < b.keys.keys / kPanel; ++n) {
      if (any_seen(cover_of(t, g, n), g, n) != 0) b.seen[g] |= std::uint64_t{1} << n;
    }
  }
  return b;
}

// p = exp2(s - lse), from the registers.
HWY_INLINE void store_weights(const Accumulators<kRows, 2>& c, const float* HWY_RESTRICT lse, float* HWY_RESTRICT p) {
  const F f;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Vec base = hn::Set(f, lse[r]);
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      hn::Store(exp2_of(hn::Sub(c.at[r][v], base)), f, p + r * kWeightStride + v * (kPanel / 2));
    }
  }
}

// ds = p (dp - delta), from the registers.
HWY_INLINE void store_gradients(const Accumulators<kRows, 2>& c, const float* HWY_RESTRICT delta,
                                const float* HWY_RESTRICT p, float* HWY_RESTRICT ds) {
  const F f;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Vec mean = hn::Set(f, delta[r]);
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const std::int64_t at = r * kWeightStride + v * (kPanel / 2);
      hn::Store(hn::Mul(hn::Load(f, p + at), hn::Sub(c.at[r][v], mean)), f, ds + at);
    }
  }
}

// p and ds of one group of queries and one panel of keys.
template <bool kPlain>
HWY_INLINE void weigh_tile(const Backward& t, const BackwardBlock& b, std::int64_t group, std::int64_t panel) {
  const Spot at = spot_of(t, b, group, panel);
  Accumulators<kRows, 2> c;
  multiply_panel(b.q + at.row * kPanel, b.rows, b.keys.key_panels + panel * kPanel * t.block.width, t.block.width, c);
  if constexpr (kPlain) {
    store_weights(c, b.lse + at.row, at.p);
  } else {
    c.store(at.p, kWeightStride);
  }
  multiply_panel(b.d_out + at.row * kPanel, b.rows, b.keys.value_panels + panel * kPanel * t.block.value_width,
                 t.block.value_width, c);
  if constexpr (kPlain) {
    store_gradients(c, b.delta + at.row, at.p, at.ds);
    if (at.slot.bits != nullptr || at.slot.end - at.slot.key < kPanel) forbid_tile(at);
  } else {
    c.store(at.ds, kWeightStride);
    finish_tile(t, b, at);
  }
}

// Prefetches row n of the next block of queries: q, d_out and dq.
HWY_INLINE void fetch_row(const Backward& t, std::int64_t n) {
  if (n >= t.next_rows) return;
  const std::int64_t i = t.first + t.rows + n;
  const auto fetch = [](const void* row, std::int64_t bytes) {
    for (std::int64_t at = 0; at < bytes; at += 64)
      __builtin_prefetch(static_cast<const std::uint8_t*>(row) + at, 0, 2);
  };
  fetch(static_cast<const std::uint8_t*>(t.q.data) + i * t.q.stride * size_of(t.q.type),
        t.block.width * size_of(t.q.type));
  fetch(static_cast<const float*>(t.d_out.data) + i * t.d_out.stride, t.block.value_width * 4);
  fetch(t.dq + i * t.dq_stride, t.block.width * 4);
}

// Keys in the outer loop: a panel stays in the L1 cache while all groups of queries use it.
template <bool kPlain>
HWY_NOINLINE void weigh(const Backward& t, const BackwardBlock& b) {
  std::int64_t tile = 0;
  for (std::int64_t n = 0; n < b.keys.keys / kPanel; ++n) {
    for (std::int64_t g = 0; g < b.rows / kRows; ++g) {
      fetch_row(t, tile++);
      if ((b.seen[g] >> static_cast<unsigned>(n) & 1U) != 0) weigh_tile<kPlain>(t, b, g, n);
    }
  }
}

// Whether the products are already the scores, and nothing but q, k and v wants a gradient.
HWY_INLINE bool is_plain(const Backward& t) {
  const Scoring& how = t.scoring;
  return how.softcap == 0 && how.bias == nullptr && how.dense[0].data == nullptr && how.dense[1].data == nullptr &&
         t.dropout.threshold == 0 && t.d_bias == nullptr && t.d_dense == nullptr;
}

// Calls call(first, last) for every run of ones, bits [first, last).
template <class Call>
HWY_INLINE void for_each_run(std::uint64_t bits, const Call& call) {
  while (bits != 0) {
    const int first = std::countr_zero(bits);
    const int count = std::countr_one(bits >> first);
    call(first, first + count);
    bits = first + count < 64 ? bits & (~std::uint64_t{0} << (first + count)) : 0;
  }
}

// c += ds k for a group of queries, in NV vectors of columns from d on.
template <int NV>
HWY_INLINE void multiply_keys_back(const BackwardBlock& b, std::int64_t group, std::int64_t d,
                                   Accumulators<kRows, NV>& c) {
  for_each_run(b.seen[group], [&](int first, int last) HWY_ATTR {
    c.template add_product<kWeightStride>(b.ds + group * kRows * kWeightStride + first * kPanel,
                                          b.keys.key_columns + d * b.keys.keys + first * kPanel * kPanel, kPanel,
                                          (last - first) * kPanel);
  });
}

// The same where rows or columns end within the register tile.
template <int NV>
HWY_NOINLINE void add_to_edge(const Backward& t, const BackwardBlock& b, std::int64_t group, std::int64_t d) {
  HWY_ALIGN float edge[kRows * kPanel];
  Accumulators<kRows, NV> c;
  c.clear();
  multiply_keys_back(b, group, d, c);
  c.store(edge, kPanel);
  const std::int64_t row = group * kRows;
  for (std::int64_t r = row; r < std::min(row + kRows, t.rows); ++r) {
    float* dq = t.dq + (t.first + r) * t.dq_stride;
    for (std::int64_t n = d; n < std::min(d + NV * lanes_of_float(), t.block.width); ++n) {
      dq[n] += edge[(r - row) * kPanel + n - d];
    }
  }
}

// dq += ds k for a group of queries.
template <int NV>
HWY_INLINE void add_to_queries(const Backward& t, const BackwardBlock& b, std::int64_t group, std::int64_t d) {
  const std::int64_t row = group * kRows;
  if (row + kRows > t.rows || d + NV * lanes_of_float() > t.block.width) return add_to_edge<NV>(t, b, group, d);
  float* dq = t.dq + (t.first + row) * t.dq_stride + d;
  Accumulators<kRows, NV> c;
  c.load(dq, t.dq_stride);
  multiply_keys_back(b, group, d, c);
  c.store(dq, t.dq_stride);
}

HWY_NOINLINE void add_queries(const Backward& t, const BackwardBlock& b) {
  for (std::int64_t g = 0; g < b.rows / kRows; ++g) {
    if (b.seen[g] == 0) continue;
    for (std::int64_t d = 0; d < t.block.width; d += kPanel) {
      if (t.block.width - d > lanes_of_float()) {
        add_to_queries<2>(t, b, g, d);
      } else {
        add_to_queries<1>(t, b, g, d);
      }
    }
  }
}

// sums += w^T rows: dv with w = p and rows = d_out, dk with w = ds and rows = q.
struct KeySums {
  const float* w;     // [rows][kWeightStride]
  const float* rows;  // columns
  float* sums;        // columns
  std::int64_t width;
};

// R keys of a panel, from key j of the block on. Bit g of groups: group g of the queries sees the panel.
template <int R, int NV>
HWY_INLINE void add_to_keys(const BackwardBlock& b, const KeySums& k, std::uint64_t groups, std::int64_t j,
                            std::int64_t d) {
  Accumulators<R, NV> c;
  float* sums = k.sums + d * b.keys.keys + j * kPanel;
  c.load(sums, kPanel);
  for_each_run(groups, [&](int first, int last) HWY_ATTR {
    c.add_transposed(k.w + first * kRows * kWeightStride + j, kWeightStride,
                     k.rows + d * b.rows + first * kRows * kPanel, kPanel, (last - first) * kRows);
  });
  c.store(sums, kPanel);
}

// All keys of a panel, in strips as high as a register tile; the last strip is lower.
template <int NV, int kFirst = 0>
HWY_INLINE void add_strips(const BackwardBlock& b, const KeySums& k, std::uint64_t groups, std::int64_t panel,
                           std::int64_t d) {
  if constexpr (kFirst < kPanel) {
    constexpr int kHeight = kPanel - kFirst < kRows ? kPanel - kFirst : kRows;
    add_to_keys<kHeight, NV>(b, k, groups, panel * kPanel + kFirst, d);
    add_strips<NV, kFirst + kHeight>(b, k, groups, panel, d);
  }
}

HWY_NOINLINE void add_keys(const BackwardBlock& b, const KeySums& k) {
  for (std::int64_t d = 0; d < k.width; d += kPanel) {
    for (std::int64_t n = 0; n < b.keys.keys / kPanel; ++n) {
      std::uint64_t groups = 0;
      for (int g = 0; g < kGroups; ++g) groups |= (b.seen[g] >> static_cast<unsigned>(n) & 1U) << g;
      if (groups == 0) continue;
      if (k.width - d > lanes_of_float()) {
        add_strips<2>(b, k, groups, n, d);
      } else {
        add_strips<1>(b, k, groups, n, d);
      }
    }
  }
}

void run_backward(const Backward& t) {
  const FlushDenormals guard;
  const BackwardBlock b = lay_out(t);
  is_plain(t) ? weigh<true>(t, b) : weigh<false>(t, b);
  add_queries(t, b);
  add_keys(b, {b.p, b.d_out, b.keys.dv, t.block.value_width});
  add_keys(b, {b.ds, b.q, b.keys.dk, t.block.width});
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(scratch_floats);
HWY_EXPORT(run_backward);

std::int64_t backward_scratch(std::int64_t width, std::int64_t value_width) noexcept {
  return HWY_DYNAMIC_DISPATCH(scratch_floats)(width, value_width);
}
void backward(const Backward& task) noexcept { HWY_DYNAMIC_DISPATCH(run_backward)(task); }
}  // namespace attn::kernels
#endif
