// bench/engine/fma_peak.cc - the peak rate of fused multiply-adds of this core.

#include <cstdint>

#include "bench/engine/cpu_clock.h"
#include "bench/engine/probe.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/engine/fma_peak.cc"
#include <hwy/foreach_target.h>
// after foreach_target.h, as Highway asks
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent chains: enough to keep two units of four or five cycles' latency busy, few enough for sixteen registers.
constexpr int kChains = 12;

// Returns the number of FLOP; writes the results to *sink, so that the compiler cannot remove the work.
HWY_NOINLINE double spin(std::int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto shrink = hn::Set(d, 0.999F);  // the chains converge to 1: neither infinite nor denormal
  const auto grow = hn::Set(d, 0.001F);
  hn::Vec<decltype(d)> chain[kChains];
  // Each starts from another number: g++ merges chains that start alike.
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) chain[i] = hn::Set(d, *sink + 0.01F * static_cast<float>(i));
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (auto& c : chain) c = hn::MulAdd(c, shrink, grow);
  }
  auto total = hn::Zero(d);
#pragma GCC unroll 12
  for (auto& c : chain) total = hn::Add(total, c);
  *sink = hn::GetLane(total);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {
HWY_EXPORT(spin);
static double fma_rounds(std::int64_t rounds, float* sink) { return HWY_DYNAMIC_DISPATCH(spin)(rounds, sink); }
}  // namespace bench

double bench_fma_peak(double seconds) {
  constexpr std::int64_t kRounds = 20'000;  // about 40 microseconds
  float sink = 1;
  double flop = 0;
  const double start = bench::cpu_seconds();
  double now = start;
  while (now - start < seconds) {
    flop += bench::fma_rounds(kRounds, &sink);
    now = bench::cpu_seconds();
  }
  return flop / (now - start);
}
#endif
