// engine/kernels/attention/tile_statistics.cc - sums over a block of weights, per row and per column (see
// tile_statistics.h).
//
// Every weight is read once and enters five sums: mass, entropy, distance, beyond (per row) and received (per column).
// Rows are cut into 512 columns, whose column sums stay in the L1 cache while all rows pass over them.
#include "engine/kernels/attention/tile_statistics.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention/tile_statistics.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "engine/kernels/common/denormals.h"
#include "engine/kernels/common/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kBlock = 512;  // columns at a time

// Natural logarithm of a normal positive number. x = m 2^e with m from sqrt(1/2) to sqrt(2), and
// log m = f + f^2 q(f), f = m - 1; q is the polynomial of degree 7 whose largest error, 3e-8, is the least.
template <class D>
HWY_INLINE hn::Vec<D> log_of(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> i;
  const auto bits = hn::BitCast(i, x);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(i, 0x3F3504F3)));  // sqrt(1/2)
  const auto f = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))), hn::Set(d, 1.0F));
  auto q = hn::MulAdd(f, hn::Set(d, 0.08734844624996185F), hn::Set(d, -0.14307527244091034F));
  q = hn::MulAdd(q, f, hn::Set(d, 0.14917975664138794F));
  q = hn::MulAdd(q, f, hn::Set(d, -0.16570506989955902F));
  q = hn::MulAdd(q, f, hn::Set(d, 0.19962072372436523F));
  q = hn::MulAdd(q, f, hn::Set(d, -0.25001755356788635F));
  q = hn::MulAdd(q, f, hn::Set(d, 0.33333951234817505F));
  q = hn::MulAdd(q, f, hn::Set(d, -0.49999991059303284F));
  const auto log_m = hn::MulAdd(hn::Mul(f, f), q, f);
  return hn::MulAdd(hn::ConvertTo(d, e), hn::Set(d, 0.6931471805599453F), log_m);
}

// The sums of a row, one per lane.
template <class D>
struct LaneSums {
  hn::Vec<D> mass, log, distance, beyond;

  HWY_INLINE LaneSums() { mass = log = distance = beyond = hn::Zero(D()); }
  HWY_INLINE void add(hn::Vec<D> p, hn::Vec<D> offset, hn::Vec<D> limit) {
    const D d;
    const auto away = hn::Abs(offset);
    const auto known = hn::IfThenElse(hn::Gt(p, hn::Zero(d)), p, hn::Set(d, 1.0F));  // p log 1: 0, or NaN if p is NaN
    mass = hn::Add(mass, p);
    log = hn::MulAdd(p, log_of(d, known), log);
    distance = hn::MulAdd(p, away, distance);
    beyond = hn::Add(beyond, hn::IfThenElseZero(hn::Gt(away, limit), p));
  }
  HWY_INLINE void add_to(RowStatistics& row) const {
    row.mass += total(mass);
    row.entropy -= total(log);
    row.distance += total(distance);
    row.beyond += total(beyond);
  }

 private:
  static HWY_INLINE double total(hn::Vec<D> x) { return hn::GetLane(hn::SumOfLanes(D(), x)); }
};

// One row of `columns` weights; `offset` is j - i of the first.
HWY_INLINE void row_statistics(const float* HWY_RESTRICT p, std::int64_t columns, std::int64_t offset, float limit,
                               float* HWY_RESTRICT received, RowStatistics& row) {
  const F f;
  const hn::CappedTag<float, 1> one;
  const std::int64_t lanes = lanes_of_float();
  LaneSums<F> sums;
  auto at = hn::Iota(f, static_cast<float>(offset));
  std::int64_t j = 0;
  for (; j + lanes <= columns; j += lanes, at = hn::Add(at, hn::Set(f, static_cast<float>(lanes)))) {
    const Vec x = hn::LoadU(f, p + j);
    hn::StoreU(hn::Add(hn::LoadU(f, received + j), x), f, received + j);
    sums.add(x, at, hn::Set(f, limit));
  }
  sums.add_to(row);
  LaneSums<decltype(one)> rest;
  for (; j < columns; ++j) {
    received[j] += p[j];
    rest.add(hn::Set(one, p[j]), hn::Set(one, static_cast<float>(offset + j)), hn::Set(one, limit));
  }
  rest.add_to(row);
}

void statistics_of_tile(const TileStatistics& t) {
  const FlushDenormals guard;
  HWY_ALIGN float received[kBlock];
  for (std::int64_t from = 0; from < t.columns; from += kBlock) {
    const std::int64_t columns = std::min(kBlock, t.columns - from);
    std::fill_n(received, columns, 0.0F);
    for (std::int64_t r = 0; r < t.rows; ++r) {
      row_statistics(t.weights.data + r * t.weights.stride + from, columns, t.key + from - (t.query + r),
                     static_cast<float>(t.beyond), received, t.by_row[r]);
    }
    for (std::int64_t j = 0; j < columns; ++j) t.received[from + j] += received[j];
  }
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(statistics_of_tile);

void tile_statistics(const TileStatistics& task) noexcept { HWY_DYNAMIC_DISPATCH(statistics_of_tile)(task); }
}  // namespace attn::kernels
#endif
