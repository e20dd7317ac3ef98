// engine/kernels/linear/linear.cc - linear attention of one key head and the query heads that share it.
//
//   out[i] = phi(q[i]) S / (phi(q[i]) z + epsilon)     S [F, E] = sum_j phi(k[j])^T v[j]     z [F] = sum_j phi(k[j])
//
// Without a softmax, keys and values can be summed before any query arrives. The work is O(N F E) instead of
// O(N M (D + E)), and the state S, z has a fixed size (Katharopoulos et al., 2020).
//
// Not causal: add_keys sums all keys, then `answer` multiplies every query with the sums. Causal: query i needs the
// sums over j <= i. Updating S after every key would be N rank-1 updates, bound by memory. So keys go in chunks of 64
// (Hua et al., 2022), see answer_causally. A query meets the chunks before its own through S, and the keys of its own
// chunk through scores phi(q) phi(K)^T up to the diagonal. Then the chunk enters S as one product phi(K)^T V of
// depth 64.
//
// Memory. S is rows of E, padded to whole vectors, followed by z (linear.h). Of a chunk there are phi(K), one row per
// key or, if causal, transposed so that scores read vectors over keys, and V, in place where possible. Twelve queries
// at a time are mapped into panels [12][64 features], from which the register tile broadcasts.
//
// Loop. For 12 queries: phi(q) and phi(q) z; if causal, scores against the chunk; then per register tile
// c = phi(q) S (+ scores V up to the diagonal), divided at the end. The triangle on the diagonal multiplies only
// visible keys, so that a NaN in a later key cannot reach an earlier row. A chunk is summed from 0 before it is added
// to S, which rounds less than adding key by key to a long sum.
//
// Measured, N 1024, D = E = 64, AVX-512: 75% of the FMA peak with inputs in the L2 cache, 82% without elu + 1; with
// eight heads, 8 MB, that stream through it, 67 to 70%.
#include "engine/kernels/linear/linear.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/linear/linear.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "engine/kernels/common/denormals.h"
#include "engine/kernels/linear/linear-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

// part += c, and now = before + part if there is a `before` (see LinearSums).
template <int R, int NV>
HWY_INLINE void add_tile(const Accumulators<R, NV>& c, const LinearSums& sums, std::int64_t at, std::int64_t stride) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  float* HWY_RESTRICT part = sums.part + at;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) {
      float* to = part + r * stride + n * lanes;
      hn::Store(hn::Add(hn::Load(f, to), c.at[r][n]), f, to);
    }
  if (HWY_LIKELY(sums.before == nullptr)) return;
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < NV; ++n) {
      const std::int64_t p = r * stride + n * lanes;
      hn::Store(hn::Add(hn::Load(f, sums.before + at + p), hn::Load(f, part + p)), f, sums.now + at + p);
    }
}

// Adds a chunk to the sums: phi(K)^T V to S, and its z to z.
template <bool kTransposed>
HWY_NOINLINE void add_chunk(const LinearTask& t, const LinearScratch& scratch, const KeyChunk& chunk,
                            const LinearSums& sums) {
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t stride = t.widths.stride();
  const std::int64_t rows = round_up(t.widths.features, kFour);
  std::int64_t large = rows / kRows * kRows;
  if ((rows - large) % kFour != 0) large -= kRows;
  const auto tile = [&]<int R, int NV>(std::int64_t row, std::int64_t e) HWY_ATTR {
    Accumulators<R, NV> c;
    c.clear();
    if constexpr (kTransposed) {
      c.template add_product<kStride>(scratch.phi_k + row * kStride, chunk.v.data + e, chunk.v.stride, chunk.count);
    } else {
      c.add_transposed(scratch.phi_k + row, t.widths.padded_features(), chunk.v.data + e, chunk.v.stride, chunk.count);
    }
    add_tile<R, NV>(c, sums, row * stride + e, stride);
  };
  const auto band = [&]<int R>(std::int64_t row) HWY_ATTR {
    std::int64_t e = 0;
    for (; e + lanes < t.widths.values; e += 2 * lanes) tile.template operator()<R, 2>(row, e);
    if (e < t.widths.values) tile.template operator()<R, 1>(row, e);
  };
  for (std::int64_t row = 0; row < large; row += kRows) band.template operator()<kRows>(row);
  for (std::int64_t row = large; row < rows; row += kFour) band.template operator()<kFour>(row);
  for (std::int64_t d = 0; d < t.widths.features; d += lanes) {
    Accumulators<1, 1> z;
    z.load(scratch.z + d, 0);
    add_tile<1, 1>(z, sums, t.widths.z() + d, 0);
  }
}

// to[r] = the sum of the lanes of x[r]
HWY_INLINE void store_sums(const Vec (&x)[kFour], float* to) {
  const F f;
  const hn::Repartition<double, F> pairs;
  const Vec a = hn::Add(hn::InterleaveLower(f, x[0], x[1]), hn::InterleaveUpper(f, x[0], x[1]));
  const Vec b = hn::Add(hn::InterleaveLower(f, x[2], x[3]), hn::InterleaveUpper(f, x[2], x[3]));
  const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b));
  const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b));
  HWY_ALIGN float blocks[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Add(hn::BitCast(f, low), hn::BitCast(f, high)), f, blocks);
  const hn::FixedTag<float, 4> four;
  auto sum = hn::Load(four, blocks);
  for (std::int64_t n = 4; n < lanes_of_float(); n += 4) sum = hn::Add(sum, hn::Load(four, blocks + n));
  hn::Store(sum, four, to);
}

// A block of at most kTileRows queries of one head.
struct LinearBlock {
  Rows q;            // of the head, from query 0
  std::int64_t end;  // number of queries of the head
  float* out;        // of the head, from query 0
  std::int64_t out_stride;
  std::int64_t first;  // query of the block
  std::int64_t rows;
  const float* sum;                               // S and z
  LinearValues v;                                 // causal: of the chunk
  std::int64_t diagonal;                          // causal: the block's first key in the chunk
  alignas(64) float divisor[kStride];             // [kTileRows]: the divisors, then their reciprocals
  alignas(64) float scores[kTileRows * kStride];  // causal: against the keys of the chunk
};

// Writes phi(q) to panels and phi(q) z to divisor.
HWY_INLINE void map_queries(const LinearTask& t, const LinearScratch& scratch, LinearBlock& block) {
  const F f;
  const float* z = block.sum + t.widths.z();
  for (std::int64_t row = 0; row < block.rows; row += kFour) {
    const FourRows four = four_rows(t, block.q, block.first + row, block.end, scratch.raw);
    Vec sums[kFour] = {hn::Zero(f), hn::Zero(f), hn::Zero(f), hn::Zero(f)};
    float* to = scratch.phi_q + row * kStride;
    map_four(t.phi, four, t.widths.features, [&](std::int64_t d, const Vec(&x)[kFour]) HWY_ATTR {
      const Vec at = hn::Load(f, z + d);
      float* panel = to + d / kStride * kStride * kTileRows + d % kStride;
#pragma GCC unroll 4
      for (int r = 0; r < kFour; ++r) {
        sums[r] = hn::MulAdd(x[r], at, sums[r]);
        hn::Store(x[r], f, panel + r * kStride);
      }
    });
    store_sums(sums, block.divisor + row);
  }
}

// c += a b, where a lies in panels of kStride features and b has one row per feature.
template <int R, int NV>
HWY_INLINE void add_panels(std::int64_t features, const float* a, const float* b, std::int64_t stride,
                           Accumulators<R, NV>& c) {
  for (std::int64_t d = 0; d < features; d += kStride) {
    c.template add_product<kStride>(a + d * kTileRows, b + d * stride, stride,
                                    std::min<std::int64_t>(kStride, features - d));
  }
}

// Calls step<R>(row) until all rows of the block are covered by tiles of R rows.
template <class Step>
HWY_INLINE void for_each_tile(std::int64_t rows, const Step& step) {
  for (std::int64_t row = 0; row < rows;) {
    if (rows - row > kFour) {
      step.template operator()<kRows>(row);
      row += kRows;
    } else {
      step.template operator()<kFour>(row);
      row += kFour;
    }
  }
}

// scores[r, j] = <phi(q[r]), phi(k[j])> up to the diagonal and a little beyond; adds those up to it to divisor.
HWY_INLINE void score_own_chunk(const LinearTask& t, const LinearScratch& scratch, LinearBlock& block) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  for_each_tile(block.rows, [&]<int R>(std::int64_t row) HWY_ATTR {
    const auto keys = [&]<int NV>(std::int64_t key) HWY_ATTR {
      Accumulators<R, NV> c;
      c.clear();
      add_panels<R, NV>(t.widths.features, scratch.phi_q + row * kStride, scratch.phi_k + key, kStride, c);
      c.store(block.scores + row * kStride + key, kStride);
    };
    const std::int64_t end = block.diagonal + row + R;
    std::int64_t key = 0;
    for (; key + lanes < end; key += 2 * lanes) keys.template operator()<2>(key);
    if (key < end) keys.template operator()<1>(key);
  });
  for (std::int64_t row = 0; row < block.rows; row += kFour) {
    Vec sums[kFour];
    for (int r = 0; r < kFour; ++r) {
      const float* s = block.scores + (row + r) * kStride;
      const std::int64_t end = row + r < block.rows ? block.diagonal + row + r + 1 : 0;
      Vec sum = hn::Zero(f);
      for (std::int64_t key = 0; key < end; key += lanes) {
        const auto seen = hn::FirstN(f, static_cast<std::size_t>(end - key));
        sum = hn::Add(sum, hn::IfThenElseZero(seen, hn::Load(f, s + key)));
      }
      sums[r] = sum;
    }
    alignas(16) float more[kFour];
    store_sums(sums, more);
    for (int r = 0; r < kFour; ++r) block.divisor[row + r] += more[r];
  }
}

// c[r] += sum of s[r, k] v[k] over k <= r. A key beyond the diagonal is not touched, so its NaN does no harm.
template <int R, int NV>
HWY_INLINE void add_triangle(const float* HWY_RESTRICT s, const float* HWY_RESTRICT v, std::int64_t stride,
                             Accumulators<R, NV>& c) {
  const std::int64_t lanes = lanes_of_float();
#pragma GCC unroll 16
  for (int k = 0; k < R; ++k) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      if (r < k) continue;
      const Vec x = hn::Set(F(), s[r * kStride + k]);
#pragma GCC unroll 2
      for (int n = 0; n < NV; ++n) c.at[r][n] = hn::MulAdd(x, hn::LoadU(F(), v + k * stride + n * lanes), c.at[r][n]);
    }
  }
}

// out = c / divisor for the rows of the block from `row` on and the columns from e on, as far as they exist.
template <int R, int NV>
HWY_INLINE void write_out(const LinearTask& t, const LinearBlock& block, std::int64_t row, std::int64_t e,
                          const Accumulators<R, NV>& c) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t rows = block.rows - row;
  const std::int64_t columns = t.widths.values - e;
  float* out = block.out + (block.first + row) * block.out_stride + e;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    if (r >= rows) break;
    const Vec factor = hn::Set(f, block.divisor[row + r]);
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) {
      const Vec x = hn::Mul(factor, c.at[r][n]);
      float* to = out + r * block.out_stride + n * lanes;
      if (HWY_LIKELY((n + 1) * lanes <= columns)) {
        hn::StoreU(x, f, to);
      } else {
        hn::BlendedStore(x, hn::FirstN(f, static_cast<std::size_t>(columns - n * lanes)), f, to);
      }
    }
  }
}

template <bool kCausal>
HWY_NOINLINE void answer_block(const LinearTask& t, const LinearScratch& scratch, LinearBlock& block) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  map_queries(t, scratch, block);
  if constexpr (kCausal) score_own_chunk(t, scratch, block);
  for (std::int64_t r = 0; r < block.rows; r += lanes) {
    const Vec divisor = hn::Add(hn::Load(f, block.divisor + r), hn::Set(f, t.epsilon));
    const Vec inverse = hn::Div(hn::Set(f, 1.0F), divisor);
    hn::Store(hn::IfThenZeroElse(hn::Eq(divisor, hn::Zero(f)), inverse), f, block.divisor + r);
  }
  for_each_tile(block.rows, [&]<int R>(std::int64_t row) HWY_ATTR {
    const auto columns = [&]<int NV>(std::int64_t e) HWY_ATTR {
      Accumulators<R, NV> c;
      c.clear();
      add_panels<R, NV>(t.widths.features, scratch.phi_q + row * kStride, block.sum + e, t.widths.stride(), c);
      if constexpr (kCausal) {
        const float* s = block.scores + row * kStride;
        const std::int64_t diagonal = block.diagonal + row;
        c.template add_product<kStride>(s, block.v.data + e, block.v.stride, diagonal);
        add_triangle<R, NV>(s + diagonal, block.v.data + diagonal * block.v.stride + e, block.v.stride, c);
      }
      write_out<R, NV>(t, block, row, e, c);
    };
    std::int64_t e = 0;
    for (; e + lanes < t.widths.values; e += 2 * lanes) columns.template operator()<2>(e);
    if (e < t.widths.values) columns.template operator()<1>(e);
  });
}

HWY_INLINE void choose_head(const LinearQueries& queries, std::int64_t head, LinearBlock& block) {
  const std::int64_t bytes = queries.q.type == Element::float32 ? 4 : 2;
  block.q = queries.q;
  block.q.data = static_cast<const char*>(queries.q.data) + head * queries.q_head * bytes;
  block.end = queries.count;
  block.out = queries.out + head * queries.out_head;
  block.out_stride = queries.out_stride;
}

void add_keys(const LinearTask& t, const LinearKeys& keys, float* sum) {
  const FlushDenormals guard;
  const LinearScratch scratch = lay_out(t);
  for (std::int64_t first = 0; first < keys.count; first += kLinearChunk) {
    KeyChunk chunk{first, std::min(kLinearChunk, keys.count - first), {}};
    map_keys(t, keys, scratch, chunk);
    chunk.v = read_values(t, keys, scratch.values, chunk, false);
    add_chunk<false>(t, scratch, chunk, {nullptr, sum, sum});
  }
}

void answer(const LinearTask& t, const LinearQueries& queries, const float* sum) {
  const FlushDenormals guard;
  const LinearScratch scratch = lay_out(t);
  LinearBlock block;
  block.sum = sum;
  for (std::int64_t head = 0; head < queries.heads; ++head) {
    choose_head(queries, head, block);
    for (block.first = 0; block.first < queries.count; block.first += kTileRows) {
      block.rows = std::min(kTileRows, queries.count - block.first);
      answer_block<false>(t, scratch, block);
    }
  }
}

void answer_causally(const LinearTask& t, const LinearQueries& queries, const LinearKeys& keys,
                     const LinearSums& sums) {
  const FlushDenormals guard;
  const LinearScratch scratch = lay_out(t);
  LinearBlock block;
  block.sum = sums.now;
  for (std::int64_t first = 0; first < keys.count; first += kLinearChunk) {
    KeyChunk chunk{first, std::min(kLinearChunk, keys.count - first), {}};
    map_keys_transposed(t, keys, scratch, chunk);
    chunk.v = read_values(t, keys, scratch.values, chunk, true);
    block.v = chunk.v;
    for (std::int64_t head = 0; head < queries.heads; ++head) {
      choose_head(queries, head, block);
      for (block.diagonal = 0; block.diagonal < chunk.count; block.diagonal += kTileRows) {
        block.first = first + block.diagonal;
        block.rows = std::min(kTileRows, chunk.count - block.diagonal);
        answer_block<true>(t, scratch, block);
      }
    }
    add_chunk<true>(t, scratch, chunk, sums);
  }
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(add_keys);
HWY_EXPORT(answer);
HWY_EXPORT(answer_causally);

std::int64_t linear_scratch(const LinearWidths& widths) noexcept {
  const std::int64_t panels = (widths.features + kLinearChunk - 1) / kLinearChunk;
  return (kLinearChunk + 5) * widths.padded_features() + kLinearChunk * widths.stride() +
         panels * kTileRows * kLinearChunk;
}
void add_linear_keys(const LinearTask& task, const LinearKeys& keys, float* sum) noexcept {
  HWY_DYNAMIC_DISPATCH(add_keys)(task, keys, sum);
}
void answer_linear(const LinearTask& task, const LinearQueries& queries, const float* sum) noexcept {
  HWY_DYNAMIC_DISPATCH(answer)(task, queries, sum);
}
void answer_linear_causally(const LinearTask& task, const LinearQueries& queries, const LinearKeys& keys,
                            const LinearSums& sums) noexcept {
  HWY_DYNAMIC_DISPATCH(answer_causally)(task, queries, keys, sums);
}
}  // namespace attn::kernels
#endif
