// engine/kernels/linear/linear_backward.cc - gradients of linear attention (see linear_backward.h).
//
// out[i] = n[i] / c[i] with n[i] = sum_j <phi(q[i]), phi(k[j])> v[j] and c[i] the same sum with 1 in place of v[j]. So
// v'[j] is v[j] with one more column, a 1, and g[i] = (d_out[i], -<d_out[i], out[i]>) / c[i] is the gradient of
// (n[i], c[i]). Then
//   dphi(q[i]) = sum_j <g[i], v'[j]> phi(k[j])     dphi(k[j]) = sum_i <g[i], v'[j]> phi(q[i])
//   dv[j] = sum_i <phi(q[i]), phi(k[j])> g[i]
// Each of these is a linear attention again. Not causal, sums over all rows are enough. Causal, rows go in chunks of
// 96, forwards for dq (keys before the query) and backwards for dk and dv (queries after the key).
#include "engine/kernels/linear/linear_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/linear/linear_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/kernels/attention/backward-inl.h"
#include "engine/kernels/common/denormals.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

inline constexpr std::int64_t kChunkRows = 96;
static_assert(kChunkRows % kRows == 0 && kChunkRows % kPanel == 0);

// A matrix in columns (backward-inl.h).
struct PaddedMatrix {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t width = 0;

  // d must be the first column of a panel.
  [[nodiscard]] HWY_INLINE float* at(std::int64_t row, std::int64_t d) const { return data + d * rows + row * kPanel; }
  [[nodiscard]] HWY_INLINE float& one(std::int64_t row, std::int64_t d) const {
    return at(row, d / kPanel * kPanel)[d % kPanel];
  }
  HWY_INLINE void clear() const { std::fill_n(data, column_floats(rows, width), 0.0F); }
};

// Which part of a square matrix is not 0.
enum class Part : std::uint8_t { all, lower };

// ---- products ----

template <int R, int NV>
HWY_INLINE void add_gram_tile(const float* a, const PaddedMatrix& b, std::int64_t first, std::int64_t count,
                              std::int64_t d, float* c) {
  Accumulators<R, NV> sum;
  sum.load(c, kPanel);
  sum.add_transposed(a, kPanel, b.at(first, d), kPanel, count);
  sum.store(c, kPanel);
}

// One panel of a's columns, in strips as high as a register tile; the last strip is lower.
template <int NV, int kFirst = 0>
HWY_INLINE void add_gram_strips(const float* a, const PaddedMatrix& b, std::int64_t first, std::int64_t count,
                                std::int64_t d, float* c) {
  if constexpr (kFirst < kPanel) {
    constexpr int kHeight = kPanel - kFirst < kRows ? kPanel - kFirst : kRows;
    add_gram_tile<kHeight, NV>(a + kFirst, b, first, count, d, c + kFirst * kPanel);
    add_gram_strips<NV, kFirst + kHeight>(a, b, first, count, d, c);
  }
}

// c += a^T b, over `rows` rows. Part::lower: a is 0 above its diagonal.
HWY_NOINLINE void add_gram(const PaddedMatrix& a, const PaddedMatrix& b, std::int64_t rows, Part part,
                           const PaddedMatrix& c) {
  for (std::int64_t d = 0; d < b.width; d += kPanel) {
    for (std::int64_t n = 0; n < a.width; n += kPanel) {
      const std::int64_t first = part == Part::lower ? n : 0;
      if (first >= rows) break;
      if (b.width - d > lanes_of_float()) {
        add_gram_strips<2>(a.at(first, n), b, first, rows - first, d, c.at(n, d));
      } else {
        add_gram_strips<1>(a.at(first, n), b, first, rows - first, d, c.at(n, d));
      }
    }
  }
}

template <int NV>
HWY_INLINE void add_product_tile(const PaddedMatrix& a, const PaddedMatrix& b, std::int64_t row, std::int64_t depth,
                                 float* c, std::int64_t d) {
  Accumulators<kRows, NV> sum;
  sum.load(c, kPanel);
  for (std::int64_t n = 0; n < depth; n += kPanel) {
    sum.template add_product<kPanel>(a.at(row, n), b.at(n, d), kPanel, std::min<std::int64_t>(kPanel, depth - n));
  }
  sum.store(c, kPanel);
}

// c += a b, for the first `rows` rows, rounded up to whole groups. Part::lower: a is 0 above its diagonal.
HWY_NOINLINE void add_product(const PaddedMatrix& a, const PaddedMatrix& b, std::int64_t rows, Part part,
                              const PaddedMatrix& c) {
  for (std::int64_t d = 0; d < b.width; d += kPanel) {
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const std::int64_t depth = part == Part::lower ? std::min(row + kRows, rows) : a.width;
      if (b.width - d > lanes_of_float()) {
        add_product_tile<2>(a, b, row, depth, c.at(row, d), d);
      } else {
        add_product_tile<1>(a, b, row, depth, c.at(row, d), d);
      }
    }
  }
}

// c = the lower triangle of a b^T, b in panels; zeros above it as far as the other products read.
HWY_NOINLINE void multiply_lower(const PaddedMatrix& a, const float* panels, std::int64_t rows, const PaddedMatrix& c) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  for (std::int64_t n = 0; n < rows; n += kPanel) {
    for (std::int64_t row = n / kRows * kRows; row < rows; row += kRows) {
      Accumulators<kRows, 2> sum;
      multiply_panel(a.at(row, 0), a.rows, panels + n * a.width, a.width, sum);
      float* to = c.at(row, n);
      sum.store(to, kPanel);
      for (std::int64_t r = 0; r < kRows && row + r < n + kPanel; ++r, to += kPanel) {
        for (std::int64_t v = 0; v < kPanel; v += lanes) {
          const std::int64_t seen = std::clamp<std::int64_t>(row + r + 1 - n - v, 0, lanes);
          const auto below = hn::FirstN(f, static_cast<std::size_t>(seen));
          hn::Store(hn::IfThenElseZero(below, hn::Load(f, to + v)), f, to + v);
        }
      }
    }
  }
}

// ---- rows in and out ----

HWY_INLINE Vec phi_of(Phi phi, Vec x) {
  const F f;
  if (phi == Phi::relu) return hn::Max(hn::Zero(f), x);
  if (phi == Phi::identity) return x;
  const Vec power = exp2_of(hn::Mul(hn::Set(f, kLog2E), x));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(f)), hn::Add(x, hn::Set(f, 1.0F)), power);
}

// dphi / dx, computed from phi alone: for elu + 1 it is 1 where phi > 1, and phi itself elsewhere.
HWY_INLINE Vec slope_of(Phi phi, Vec y) {
  const F f;
  const Vec one = hn::Set(f, 1.0F);
  if (phi == Phi::elu_plus_one) return hn::Min(one, y);
  return phi == Phi::identity ? one : hn::IfThenElseZero(hn::Gt(y, hn::Zero(f)), one);
}

// The arrays of one chunk of rows.
struct Chunk {
  PaddedMatrix phi_k, values, phi_q, g;  // values: v'
  float* key_panels;                     // of phi_k, causal only
  float* value_panels;                   // of values, causal only
  PaddedMatrix scores, pairs;            // causal only: <phi(q), phi(k)> and <g, v'>, lower triangles
  PaddedMatrix d_features, d_values;     // gradients, summed here
  float* raw;                            // [kChunkRows][width padded]
};

// Sums over all rows so far: v'^T phi(k) [E + 1, F], g^T phi(q) [E + 1, F] and phi(q)^T g [F, E + 1].
struct Totals {
  PaddedMatrix keys, queries, queries_turned;
};

struct BackwardMemory {
  Chunk chunk;
  Totals totals;
  std::int64_t floats;
};

HWY_INLINE BackwardMemory lay_out(const LinearWidths& widths, float* scratch) {
  BackwardMemory m{};
  const std::int64_t features = widths.features, values = widths.values + 1;
  const auto take = [&](std::int64_t floats) {
    float* at = scratch == nullptr ? nullptr : scratch + m.floats;
    m.floats += round_up(floats, 16);
    return at;
  };
  const auto matrix = [&](std::int64_t rows, std::int64_t width) {
    return PaddedMatrix{take(column_floats(rows, width)), rows, width};
  };
  Chunk& c = m.chunk;
  for (PaddedMatrix* x : {&c.phi_k, &c.phi_q, &c.d_features}) *x = matrix(kChunkRows, features);
  for (PaddedMatrix* x : {&c.values, &c.g, &c.d_values}) *x = matrix(kChunkRows, values);
  for (PaddedMatrix* x : {&c.scores, &c.pairs}) *x = matrix(kChunkRows, kChunkRows);
  c.key_panels = take(kChunkRows * features);
  c.value_panels = take(kChunkRows * values);
  c.raw = take(kChunkRows * round_up(std::max(features, values), kPanel));
  m.totals.keys = matrix(round_up(values, kPanel), features);
  m.totals.queries = matrix(round_up(values, kPanel), features);
  m.totals.queries_turned = matrix(round_up(features, kPanel), values);
  return m;
}

// Writes phi of the rows in columns to `to`, and returns it as rows, in raw.
HWY_INLINE Rows load_features(const LinearBackward& t, const Rows& from, std::int64_t first, std::int64_t count,
                              float* raw, const PaddedMatrix& to) {
  const F f;
  const std::int64_t stride = round_up(t.widths.features, kPanel);
  for (std::int64_t r = 0; r < count; ++r) {
    float* row = raw + r * stride;
    scale_row(from, first + r, t.widths.features, 1.0F, row);
    std::fill(row + t.widths.features, row + stride, 0.0F);
    for (std::int64_t d = 0; d < t.widths.features; d += lanes_of_float()) {
      hn::Store(phi_of(t.phi, hn::Load(f, row + d)), f, row + d);
    }
  }
  const Rows rows{raw, stride, Element::float32};
  copy_columns<false>({rows, 0, count, t.widths.features, 1.0F}, to.rows, to.data);
  return rows;
}

HWY_INLINE void load_keys(const LinearBackward& t, const Chunk& c, std::int64_t first, std::int64_t count) {
  const Rows features = load_features(t, t.k, first, count, c.raw, c.phi_k);
  if (t.causal) pack_panels(features, count, t.widths.features, c.key_panels);
  const std::int64_t stride = round_up(t.widths.values + 1, kPanel);
  for (std::int64_t r = 0; r < count; ++r) {
    scale_row(t.v, first + r, t.widths.values, 1.0F, c.raw + r * stride);
    c.raw[r * stride + t.widths.values] = 1;
  }
  const Rows values{c.raw, stride, Element::float32};
  copy_columns<false>({values, 0, count, t.widths.values + 1, 1.0F}, c.values.rows, c.values.data);
  if (t.causal) pack_panels(values, count, t.widths.values + 1, c.value_panels);
}

HWY_INLINE const float* row_of(const Rows& rows, std::int64_t head, std::int64_t i) {
  return static_cast<const float*>(rows.data) + head + i * rows.stride;
}

// load_queries loads phi(q) of one head; load_gradients loads g, from the terms that find_terms wrote.
HWY_INLINE void load_queries(const LinearBackward& t, const Chunk& c, std::int64_t head, std::int64_t first,
                             std::int64_t count) {
  Rows q = t.q;
  q.data = static_cast<const std::uint8_t*>(t.q.data) + head * t.q_head * size_of(t.q.type);
  load_features(t, q, first, count, c.raw, c.phi_q);
}
HWY_INLINE void load_gradients(const LinearBackward& t, const Chunk& c, std::int64_t head, std::int64_t first,
                               std::int64_t count) {
  const float* terms = t.terms + (head * t.queries + first) * 2;
  const std::int64_t stride = round_up(t.widths.values + 1, kPanel);
  for (std::int64_t r = 0; r < count; ++r) {
    float* row = c.raw + r * stride;
    scale_row(row_of(t.d_out, head * t.d_out_head, first + r), t.widths.values, terms[2 * r], row);
    row[t.widths.values] = terms[2 * r + 1];
  }
  copy_columns<false>({{c.raw, stride, Element::float32}, 0, count, t.widths.values + 1, 1.0F}, c.g.rows, c.g.data);
}

// Writes 1 / c[i] and the last number of g[i] for each row; 0 where c[i] is 0. total holds the sum of phi(k) over the
// keys before the chunk or, if not causal, over all keys.
HWY_NOINLINE void find_terms(const LinearBackward& t, const Chunk& c, const PaddedMatrix& total, std::int64_t head,
                             std::int64_t first, std::int64_t count) {
  const F f;
  const std::int64_t lanes = lanes_of_float(), features = t.widths.features;
  HWY_ALIGN float z[kMaxWidth + kPanel];
  for (std::int64_t d = 0; d < features; d += kPanel) std::copy_n(total.at(t.widths.values, d), kPanel, z + d);
  for (std::int64_t r = 0; r < count; ++r) {
    Vec sum = hn::Zero(f);
    for (std::int64_t d = 0; d < features; d += lanes) {
      const std::int64_t panel = d / kPanel * kPanel, rest = d % kPanel;
      Vec at = hn::Load(f, z + d);
      if (t.causal) {
        at = hn::Add(at, hn::Load(f, c.phi_k.at(r, panel) + rest));
        hn::Store(at, f, z + d);
      }
      sum = hn::MulAdd(at, hn::Load(f, c.phi_q.at(r, panel) + rest), sum);
    }
    const float divisor = hn::GetLane(hn::SumOfLanes(f, sum)) + t.epsilon;
    const float* d_out = row_of(t.d_out, head * t.d_out_head, first + r);
    const float* out = row_of(t.out, head * t.out_head, first + r);
    const float delta = dot(d_out, out, t.widths.values);
    float* terms = t.terms + (head * t.queries + first + r) * 2;
    terms[0] = divisor == 0 ? 0.0F : 1 / divisor;
    terms[1] = -delta * terms[0];
  }
}

// to = d_features times the derivative of phi.
HWY_INLINE void write_features(const LinearBackward& t, const PaddedMatrix& phi, const PaddedMatrix& d_features,
                               std::int64_t count, float* to, std::int64_t stride) {
  const F f;
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t d = 0; d < t.widths.features; d += kPanel) {
      float* x = d_features.at(r, d);
      for (std::int64_t n = 0; n < kPanel; n += lanes_of_float()) {
        hn::Store(hn::Mul(hn::Load(f, x + n), slope_of(t.phi, hn::Load(f, phi.at(r, d) + n))), f, x + n);
      }
      std::copy_n(x, std::min<std::int64_t>(kPanel, t.widths.features - d), to + r * stride + d);
    }
  }
}

// ---- the passes ----

// dq of a chunk of queries of one head.
HWY_NOINLINE void answer_queries(const LinearBackward& t, const BackwardMemory& m, std::int64_t head,
                                 std::int64_t first, std::int64_t count) {
  const Chunk& c = m.chunk;
  load_queries(t, c, head, first, count);
  find_terms(t, c, m.totals.keys, head, first, count);
  load_gradients(t, c, head, first, count);
  c.d_features.clear();
  add_product(c.g, m.totals.keys, count, Part::all, c.d_features);
  if (t.causal) {
    multiply_lower(c.g, c.value_panels, count, c.pairs);
    add_product(c.pairs, c.phi_k, count, Part::lower, c.d_features);
  }
  write_features(t, c.phi_q, c.d_features, count, t.dq.data + head * t.dq.head + first * t.dq.stride, t.dq.stride);
}

HWY_INLINE void add_to_totals(const BackwardMemory& m, std::int64_t count) {
  add_gram(m.chunk.g, m.chunk.phi_q, count, Part::all, m.totals.queries);
  add_gram(m.chunk.phi_q, m.chunk.g, count, Part::all, m.totals.queries_turned);
}

// dk and dv of a chunk of keys.
HWY_NOINLINE void answer_keys(const LinearBackward& t, const BackwardMemory& m, std::int64_t first,
                              std::int64_t count) {
  const Chunk& c = m.chunk;
  load_keys(t, c, first, count);
  c.d_features.clear();
  c.d_values.clear();
  add_product(c.values, m.totals.queries, count, Part::all, c.d_features);
  add_product(c.phi_k, m.totals.queries_turned, count, Part::all, c.d_values);
  for (std::int64_t head = 0; t.causal && head < t.heads; ++head) {
    load_queries(t, c, head, first, count);
    load_gradients(t, c, head, first, count);
    multiply_lower(c.g, c.value_panels, count, c.pairs);
    multiply_lower(c.phi_q, c.key_panels, count, c.scores);
    add_gram(c.pairs, c.phi_q, count, Part::lower, c.d_features);
    add_gram(c.scores, c.g, count, Part::lower, c.d_values);
    add_to_totals(m, count);
  }
  write_features(t, c.phi_k, c.d_features, count, t.dk.data + first * t.dk.stride, t.dk.stride);
  for (std::int64_t r = 0; r < count; ++r) {
    float* dv = t.dv.data + (first + r) * t.dv.stride;
    for (std::int64_t e = 0; e < t.widths.values; e += kPanel) {
      std::copy_n(c.d_values.at(r, e), std::min<std::int64_t>(kPanel, t.widths.values - e), dv + e);
    }
  }
}

template <class Call>
HWY_INLINE void for_each_chunk(std::int64_t rows, const Call& call) {
  for (std::int64_t first = 0; first < rows; first += kChunkRows) call(first, std::min(kChunkRows, rows - first));
}

void run_linear_backward(const LinearBackward& t) {
  const FlushDenormals guard;
  const BackwardMemory m = lay_out(t.widths, t.scratch);
  for (const PaddedMatrix* x : {&m.totals.keys, &m.totals.queries, &m.totals.queries_turned}) x->clear();
  m.chunk.pairs.clear();
  m.chunk.scores.clear();
  for_each_chunk(t.keys, [&](std::int64_t first, std::int64_t count) HWY_ATTR {
    load_keys(t, m.chunk, first, count);
    for (std::int64_t head = 0; t.causal && head < t.heads; ++head) answer_queries(t, m, head, first, count);
    add_gram(m.chunk.values, m.chunk.phi_k, count, Part::all, m.totals.keys);
  });
  for (std::int64_t head = 0; !t.causal && head < t.heads; ++head) {
    for_each_chunk(t.queries, [&](std::int64_t first, std::int64_t count) HWY_ATTR {
      answer_queries(t, m, head, first, count);
      add_to_totals(m, count);
    });
  }
  for (std::int64_t first = round_up(t.keys, kChunkRows) - kChunkRows; first >= 0; first -= kChunkRows) {
    answer_keys(t, m, first, std::min(kChunkRows, t.keys - first));
  }
}

std::int64_t linear_floats(const LinearWidths& widths) { return lay_out(widths, nullptr).floats; }

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(linear_floats);
HWY_EXPORT(run_linear_backward);

std::int64_t linear_backward_scratch(const LinearWidths& widths) noexcept {
  return HWY_DYNAMIC_DISPATCH(linear_floats)(widths);
}
void linear_backward(const LinearBackward& task) noexcept { HWY_DYNAMIC_DISPATCH(run_linear_backward)(task); }
}  // namespace attn::kernels
#endif
