// kernels/linear.cc - linear attention in chunks of kLinearChunk keys.
//
// A chunk adds phi(K)^T V to S as one product of that depth. Causal, a query meets the chunks before its own through S,
// and its own chunk by the scores phi(q) phi(K)^T up to the diagonal: the work grows as N, and nothing is divided
// before the end (Katharopoulos et al., 2020; in chunks: Hua et al., 2022).
#include "kernels/linear.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/denormals.h"
#include "kernels/linear-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

// Adds R rows of NV vectors to the sums.
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

// Adds a chunk to the sums. It is summed up from 0 and then added, which loses less than adding key by key to a long
// sum.
template <bool kTransposed>
HWY_NOINLINE void add_chunk(const Linear& t, const LinearScratch& scratch, const LinearValues& v, std::int64_t count,
                            const LinearSums& sums) {
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t stride = t.widths.stride();
  const auto tile = [&]<int R, int NV>(std::int64_t row, std::int64_t e) HWY_ATTR {
    Accumulators<R, NV> c;
    c.clear();
    if constexpr (kTransposed) {
      c.template add_product<kStride>(scratch.phi_k + row * kStride, v.data + e, v.stride, count);
    } else {
      c.add_transposed(scratch.phi_k + row, t.widths.padded_features(), v.data + e, v.stride, count);
    }
    add_tile<R, NV>(c, sums, row * stride + e, stride);
  };
  const std::int64_t rows = round_up(t.widths.features, kFour);
  std::int64_t large = rows / kRows * kRows;
  if ((rows - large) % kFour != 0) large -= kRows;
  const auto strip = [&]<int NV>(std::int64_t e) HWY_ATTR {
    for (std::int64_t row = 0; row < large; row += kRows) tile.template operator()<kRows, NV>(row, e);
    for (std::int64_t row = large; row < rows; row += kFour) tile.template operator()<kFour, NV>(row, e);
  };
  std::int64_t e = 0;
  for (; e + lanes < t.widths.values; e += 2 * lanes) strip.template operator()<2>(e);
  if (e < t.widths.values) strip.template operator()<1>(e);
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

// A block of at most kTileRows queries of one head on its way through the steps.
struct LinearBlock {
  std::int64_t first;  // query
  std::int64_t rows;
  std::int64_t end;                               // of the queries that come after it, too
  const float* sum;                               // S and z
  LinearValues v;                                 // causal: of the chunk
  std::int64_t diagonal;                          // causal: the block's first key in the chunk
  alignas(64) float divisor[kStride];             // [kTileRows], and then one over it
  alignas(64) float scores[kTileRows * kStride];  // causal: against the keys of the chunk
};

// phi(q) into panels, phi(q) z into divisor.
HWY_INLINE void map_queries(const Linear& t, const Rows& q, const LinearScratch& scratch, LinearBlock& block) {
  const F f;
  const float* z = block.sum + t.widths.z();
  for (std::int64_t row = 0; row < block.rows; row += kFour) {
    const FourRows four = four_rows(t, q, block.first + row, block.end, scratch.raw);
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

// c += phi(q) b, for rows of the block from `row` on; b has a row a feature.
template <int R, int NV>
HWY_INLINE void add_features(const Linear& t, const float* phi_q, std::int64_t row, const float* b, std::int64_t stride,
                             Accumulators<R, NV>& c) {
  const float* a = phi_q + row * kStride;
  for (std::int64_t d = 0; d < t.widths.features; d += kStride) {
    c.template add_product<kStride>(a + d * kTileRows, b + d * stride, stride,
                                    std::min<std::int64_t>(kStride, t.widths.features - d));
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

// scores[r, j] = phi(q[r]) phi(k[j]) up to the diagonal and a little beyond; adds those up to the diagonal to divisor.
HWY_INLINE void score_own_chunk(const Linear& t, const LinearScratch& scratch, LinearBlock& block) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  for_each_tile(block.rows, [&]<int R>(std::int64_t row) HWY_ATTR {
    const auto keys = [&]<int NV>(std::int64_t key) HWY_ATTR {
      Accumulators<R, NV> c;
      c.clear();
      add_features<R, NV>(t, scratch.phi_q, row, scratch.phi_k + key, kStride, c);
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

// out[r] = c[r] divisor[r] for the rows that there are, in columns [e, values).
template <int R, int NV>
HWY_INLINE void write_out(const Accumulators<R, NV>& c, const float* divisor, std::int64_t rows, std::int64_t columns,
                          float* out, std::int64_t stride) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    if (r >= rows) break;
    const Vec factor = hn::Set(f, divisor[r]);
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) {
      const Vec x = hn::Mul(factor, c.at[r][n]);
      float* to = out + r * stride + n * lanes;
      if (HWY_LIKELY((n + 1) * lanes <= columns)) {
        hn::StoreU(x, f, to);
      } else {
        hn::BlendedStore(x, hn::FirstN(f, static_cast<std::size_t>(columns - n * lanes)), f, to);
      }
    }
  }
}

template <bool kCausal>
HWY_NOINLINE void answer_block(const Linear& t, const LinearScratch& scratch, const Rows& q, LinearBlock& block,
                               float* out, std::int64_t out_stride) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  map_queries(t, q, scratch, block);
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
      add_features<R, NV>(t, scratch.phi_q, row, block.sum + e, t.widths.stride(), c);
      if constexpr (kCausal) {
        const float* s = block.scores + row * kStride;
        const std::int64_t diagonal = block.diagonal + row;
        c.template add_product<kStride>(s, block.v.data + e, block.v.stride, diagonal);
        add_triangle<R, NV>(s + diagonal, block.v.data + diagonal * block.v.stride + e, block.v.stride, c);
      }
      write_out<R, NV>(c, block.divisor + row, block.rows - row, t.widths.values - e,
                       out + (block.first + row) * out_stride + e, out_stride);
    };
    std::int64_t e = 0;
    for (; e + lanes < t.widths.values; e += 2 * lanes) columns.template operator()<2>(e);
    if (e < t.widths.values) columns.template operator()<1>(e);
  });
}

HWY_INLINE Rows head_of(const LinearQueries& queries, std::int64_t head) {
  const std::int64_t bytes = queries.q.type == Element::float32 ? 4 : 2;
  Rows q = queries.q;
  q.data = static_cast<const char*>(q.data) + head * queries.q_head * bytes;
  return q;
}

void add_keys(const Linear& t, const LinearKeys& keys, float* sum) {
  const FlushDenormals guard;
  const LinearScratch scratch = lay_out(t);
  for (std::int64_t first = 0; first < keys.count; first += t.chunk) {
    const KeyChunk chunk{first, std::min(t.chunk, keys.count - first)};
    map_keys(t, keys, scratch, chunk);
    const LinearValues v = read_values(t, keys, scratch.values, chunk, false);
    add_chunk<false>(t, scratch, v, chunk.count, {nullptr, sum, sum});
  }
}

void answer(const Linear& t, const LinearQueries& queries, const float* sum) {
  const FlushDenormals guard;
  const LinearScratch scratch = lay_out(t);
  LinearBlock block;
  block.sum = sum;
  block.end = queries.count;
  for (std::int64_t head = 0; head < queries.heads; ++head) {
    const Rows q = head_of(queries, head);
    for (block.first = 0; block.first < queries.count; block.first += kTileRows) {
      block.rows = std::min(kTileRows, queries.count - block.first);
      answer_block<false>(t, scratch, q, block, queries.out + head * queries.out_head, queries.out_stride);
    }
  }
}

void answer_causally(const Linear& t, const LinearQueries& queries, const LinearKeys& keys, const LinearSums& sums) {
  const FlushDenormals guard;
  const LinearScratch scratch = lay_out(t);
  LinearBlock block;
  block.sum = sums.now;
  block.end = queries.count;
  for (std::int64_t first = 0; first < keys.count; first += kLinearChunk) {
    const KeyChunk chunk{first, std::min(kLinearChunk, keys.count - first)};
    map_keys_transposed(t, keys, scratch, chunk);
    block.v = read_values(t, keys, scratch.values, chunk, true);
    for (std::int64_t head = 0; head < queries.heads; ++head) {
      const Rows q = head_of(queries, head);
      for (block.diagonal = 0; block.diagonal < chunk.count; block.diagonal += kTileRows) {
        block.first = first + block.diagonal;
        block.rows = std::min(kTileRows, chunk.count - block.diagonal);
        answer_block<true>(t, scratch, q, block, queries.out + head * queries.out_head, queries.out_stride);
      }
    }
    add_chunk<true>(t, scratch, block.v, chunk.count, sums);
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
  return (kLinearLongChunk + 5) * widths.padded_features() + kLinearLongChunk * widths.stride() +
         panels * kTileRows * kLinearChunk;
}
void add_linear_keys(const Linear& task, const LinearKeys& keys, float* sum) noexcept {
  HWY_DYNAMIC_DISPATCH(add_keys)(task, keys, sum);
}
void answer_linear(const Linear& task, const LinearQueries& queries, const float* sum) noexcept {
  HWY_DYNAMIC_DISPATCH(answer)(task, queries, sum);
}
void answer_linear_causally(const Linear& task, const LinearQueries& queries, const LinearKeys& keys,
                            const LinearSums& sums) noexcept {
  HWY_DYNAMIC_DISPATCH(answer_causally)(task, queries, keys, sums);
}
}  // namespace attn::kernels
#endif
