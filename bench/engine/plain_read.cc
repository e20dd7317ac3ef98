// bench/engine/plain_read.cc - how fast this core can read memory: the lower bound of decoding, which must read every
// key and value.

#include <cstddef>
#include <cstdint>

#include "bench/engine/probe.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/engine/plain_read.cc"
#include <hwy/foreach_target.h>
// after foreach_target.h, as Highway asks
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kAhead = 2048 / sizeof(std::uint32_t);  // prefetch distance

HWY_NOINLINE std::uint32_t sum_words(const std::uint32_t* HWY_RESTRICT p, std::size_t count) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (std::size_t line = 0; line < 4 * lanes; line += 16) hwy::Prefetch(p + i + line + kAhead);
    a = hn::Add(a, hn::LoadU(d, p + i));
    b = hn::Add(b, hn::LoadU(d, p + i + lanes));
    c = hn::Add(c, hn::LoadU(d, p + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, p + i + 3 * lanes));
  }
  std::uint32_t sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (; i < count; ++i) sum += p[i];
  return sum;
}

}  // namespace bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {
HWY_EXPORT(sum_words);
static std::uint32_t sum(const std::uint32_t* p, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_words)(p, count);
}
}  // namespace bench

unsigned bench_plain_read(const void* data, std::size_t bytes) {
  return bench::sum(static_cast<const std::uint32_t*>(data), bytes / sizeof(std::uint32_t));
}
#endif
