// engine/kernels/product/product.cc - one part of a product of activations and weights.
//
//   out[i,o] = f(sum_k x[i,k] w[o,k] + bias[o]) + add[i,o]
//
// Memory. Weights are packed once into panels [in][2 vectors]: a panel holds as many outputs as two vectors, and all
// numbers that the register tile reads for one input lie side by side. Rows of x are cut into strips as high as the
// register tile (12 or 6 rows) or a little lower, and copied to [in / 256][rows][256], so that the numbers to broadcast
// are kDepth apart, a constant that the compiler knows.
//
// Loop. A part is some strips by some panels; parts are what threads share. Inputs are taken 256 at a time: 256 x 2
// vectors of floats are at most 32 KB, so this chunk of a panel stays in the L1 cache while every strip of the part
// is multiplied with it. Sums wait in `tiles` between the chunks of a panel. With `together` panels open at a time, the
// same 256 inputs of x serve several panels before the next ones. During the last chunk, a strip's sums get activation
// and `add` while they are still in the cache.
//
// Memory bandwidth is the limit when x has few rows. Each weight is therefore read from memory once per part, and while
// a strip is multiplied, its share of the next chunk is prefetched into the L2 cache, from several places at once.
//
// An output is a chain of 256 multiply-adds per chunk, and chunks are added in order. Threads, strips and parts do not
// change this order, so the bits of a row depend on that row and the weights alone.
#include "engine/kernels/product/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/product/product.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/kernels/common/denormals.h"
#include "engine/kernels/common/register_tile-inl.h"
#include "engine/kernels/product/strips-inl.h"
#include "engine/kernels/rows/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

inline constexpr std::int64_t kUnroll = 4;
inline constexpr std::int64_t kLine = 64;

HWY_INLINE std::int64_t panel_floats() { return 2 * lanes_of_float(); }

// Cache lines to prefetch while a strip is multiplied: every kUnroll inputs, the next line of each of `streams`
// consecutive stretches. Several stretches at once make memory 10 to 30% faster than one.
struct Fetch {
  const std::uint8_t* from = nullptr;
  std::int64_t streams = 0;
  std::int64_t apart = 0;  // bytes from one stretch to the next
};

// tile[r] = start + a[r] b, or tile[r] += a[r] b.
struct StripStep {
  const float* a = nullptr;      // [R][kDepth]
  const void* b = nullptr;       // [depth][2 vectors]
  const float* start = nullptr;  // [2 vectors]; null: add to the sums in tile
  float* tile = nullptr;         // [R][2 vectors]
  std::int64_t depth = 0;
  Fetch fetch;
};

template <int R>
HWY_INLINE void begin_sums(const float* start, Accumulators<R, 2>& c) {
  if (start == nullptr) return c.clear();
  const Vec low = hn::LoadU(F(), start);
  const Vec high = hn::LoadU(F(), start + lanes_of_float());
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    c.at[r][0] = low;
    c.at[r][1] = high;
  }
}

template <int R, typename T>
HWY_NOINLINE void add_strip(const StripStep& s) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t panel = panel_floats();
  Accumulators<R, 2> c;
  begin_sums<R>(s.start, c);
  const float* HWY_RESTRICT a = s.a;
  const T* HWY_RESTRICT b = static_cast<const T*>(s.b);
  auto fetch = reinterpret_cast<std::intptr_t>(s.fetch.from);  // an integer: stretches may end beyond the array
  const std::int64_t streams = s.fetch.streams, apart = s.fetch.apart;
  std::int64_t k = 0;
  for (; kCanPrefetch && k + kUnroll <= s.depth; k += kUnroll, fetch += kLine) {
    for (std::int64_t n = 0; n < streams; ++n) {
      __builtin_prefetch(reinterpret_cast<const void*>(fetch + n * apart), 0, 2);  // NOLINT(performance-no-int-to-ptr)
    }
    c.template add_product<kDepth>(a + k, b + k * panel, panel, kUnroll);
  }
  c.template add_product<kDepth>(a + k, b + k * panel, panel, s.depth - k);
  if (s.start == nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) c.at[r][v] = hn::Add(hn::Load(f, s.tile + r * panel + v * lanes), c.at[r][v]);
  }
  c.store(s.tile, panel);
}

using AddStrip = void (*)(const StripStep&);

// add_strip for strips of 1, 2 ... kRows rows.
template <typename T, int... kLess>
constexpr std::array<AddStrip, kRows> add_strip_table(std::integer_sequence<int, kLess...>) {
  return {add_strip<kLess + 1, T>...};
}
template <typename T>
inline constexpr std::array<AddStrip, kRows> kAddStrip = add_strip_table<T>(std::make_integer_sequence<int, kRows>());

HWY_INLINE AddStrip step_for(Element type, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows - 1);
  switch (type) {
    case Element::float16:
      return kAddStrip<hwy::float16_t>[n];
    case Element::bfloat16:
      return kAddStrip<hwy::bfloat16_t>[n];
    default:
      return kAddStrip<float>[n];
  }
}

// A strip whose sums are complete, in the columns of one panel.
struct StripEnd {
  float* tile = nullptr;  // [rows][2 vectors]
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0;
};

template <Activation kFunction>
HWY_NOINLINE void finish_strip(const Product& t, const StripEnd& s) {
  const F f;
  const std::int64_t lanes = lanes_of_float();
  const std::int64_t panel = panel_floats();
  const std::int64_t width = std::min(panel, t.outputs - s.column);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    float* sums = s.tile + r * panel;
    float* out = t.out.data + (s.row + r) * t.out.stride + s.column;
    const float* add = t.add.data == nullptr ? nullptr : t.add.data + (s.row + r) * t.add.stride + s.column;
    Vec low = activated<kFunction>(hn::Load(f, sums));
    Vec high = activated<kFunction>(hn::Load(f, sums + lanes));
    if (HWY_LIKELY(width == panel)) {
      if (add != nullptr) {
        low = hn::Add(low, hn::LoadU(f, add));
        high = hn::Add(high, hn::LoadU(f, add + lanes));
      }
      hn::StoreU(low, f, out);
      hn::StoreU(high, f, out + lanes);
      continue;
    }
    hn::Store(low, f, sums);
    hn::Store(high, f, sums + lanes);
    if (add != nullptr) {
      for (std::int64_t n = 0; n < width; ++n) sums[n] += add[n];
    }
    std::memcpy(out, sums, static_cast<std::size_t>(width) * sizeof(float));
  }
}

// Converts 16-bit weights to floats once for all strips, if there are several: a conversion is two instructions on the
// ports that the products need.
template <typename T>
HWY_INLINE void widen_chunk(const T* HWY_RESTRICT from, std::int64_t depth, float* HWY_RESTRICT to) {
  const std::int64_t count = depth * panel_floats();
  for (std::int64_t n = 0; n < count; n += lanes_of_float()) hn::Store(load_as_float(from + n), F(), to + n);
}

// The computation of one part.
class PartRun {
 public:
  PartRun(const Product& t, const ProductPart& part)
      : t_(t),
        part_(part),
        panel_(panel_floats()),
        last_strip_(part.first_strip + part.strips),
        origin_(first_row(t.rows, part.first_strip)),
        rows_(first_row(t.rows, last_strip_) - origin_),
        tiles_(part.scratch + kDepth * panel_) {}

  void run() {
    for (std::int64_t p = 0; p < part_.panels; p += part_.together) {
      const std::int64_t end = std::min(p + part_.together, part_.panels);
      for (std::int64_t k = 0; k < t_.inputs; k += kDepth) {
        for (std::int64_t n = p; n < end; ++n) {
          const Chunk next = n + 1 < end              ? Chunk{n + 1, k}
                             : k + kDepth < t_.inputs ? Chunk{p, k + kDepth}
                                                      : Chunk{end, 0};
          add_chunk({n, k}, n - p, next);
        }
      }
    }
  }

 private:
  // A chunk of a panel: the panel, counted from the part's first, and the first of at most kDepth inputs.
  struct Chunk {
    std::int64_t panel = 0, k = 0;
  };

  std::int64_t depth_of(const Chunk& c) const { return std::min(kDepth, t_.inputs - c.k); }
  const std::uint8_t* at(const Chunk& c) const {
    const std::int64_t row = (part_.first_panel + c.panel) * t_.inputs + c.k;
    return static_cast<const std::uint8_t*>(t_.panels) + row * panel_ * size_of(t_.type);
  }

  // The share of the next chunk that a strip prefetches into the L2 cache.
  Fetch share_of(const Chunk& next, std::int64_t strip, std::int64_t depth) const {
    if (next.panel >= part_.panels || depth < kUnroll || t_.panels == nullptr) return {};
    const std::int64_t lines = (depth_of(next) * panel_ * size_of(t_.type) + kLine - 1) / kLine;
    const std::int64_t steps = depth / kUnroll;
    const std::int64_t each = (lines + steps * part_.strips - 1) / (steps * part_.strips);
    const std::int64_t first = strip * each * steps;
    if (first >= lines) return {};
    return {at(next) + first * kLine, each, steps * kLine};
  }

  HWY_NOINLINE void add_chunk(const Chunk& chunk, std::int64_t slot, const Chunk& next) {
    const std::int64_t column = (part_.first_panel + chunk.panel) * panel_;
    const bool last = chunk.k + kDepth >= t_.inputs;
    StripStep step;
    step.depth = depth_of(chunk);
    Element type = t_.type;
    if (t_.panels == nullptr) {
      pack_chunk(chunk);
      step.b = part_.scratch;
      type = Element::float32;
    } else {
      step.b = at(chunk);
    }
    if (chunk.k == 0) step.start = t_.bias == nullptr ? kZeros : t_.bias + column;
    if (type != Element::float32 && part_.strips > 1) {
      widen(step.b, step.depth);
      step.b = part_.scratch;
      type = Element::float32;
    }
    for (std::int64_t strip = part_.first_strip; strip < last_strip_; ++strip) {
      const std::int64_t row = first_row(t_.rows, strip);
      const std::int64_t rows = first_row(t_.rows, strip + 1) - row;
      step.a = t_.x + (t_.rows == 1 ? chunk.k : row * round_up(t_.inputs, kDepth) + chunk.k * rows);
      step.tile = tiles_ + (slot * rows_ + row - origin_) * panel_;
      step.fetch = share_of(next, strip - part_.first_strip, step.depth);
      const StripEnd end{step.tile, row, rows, column};
      if (last) fetch_result(end);
      step_for(type, rows)(step);
      if (last) finish(end);
    }
  }

  // Packs one chunk of a panel into scratch, as floats.
  void pack_chunk(const Chunk& c) {
    const std::int64_t output = (part_.first_panel + c.panel) * panel_;
    const std::int64_t first = t_.input_first ? c.k * t_.source.stride + output : output * t_.source.stride + c.k;
    PackWeights chunk;
    chunk.matrix = t_.source;
    chunk.matrix.data = static_cast<const std::uint8_t*>(t_.source.data) + first * size_of(t_.source.type);
    chunk.input_first = t_.input_first;
    chunk.inputs = depth_of(c);
    chunk.outputs = t_.outputs - output;
    chunk.panels = part_.scratch;
    pack_weights(chunk, 0, 1);
  }

  void widen(const void* from, std::int64_t depth) {
    if (t_.type == Element::float16) {
      widen_chunk(static_cast<const hwy::float16_t*>(from), depth, part_.scratch);
    } else {
      widen_chunk(static_cast<const hwy::bfloat16_t*>(from), depth, part_.scratch);
    }
  }

  // Prefetches the output rows for writing.
  void fetch_result(const StripEnd& end) const {
    for (std::int64_t r = 0; r < end.rows; ++r) {
      const float* out = t_.out.data + (end.row + r) * t_.out.stride + end.column;
      __builtin_prefetch(out, 1, 3);
      __builtin_prefetch(out + lanes_of_float(), 1, 3);
    }
  }

  void finish(const StripEnd& end) {
    with_activation(t_.activation, [&]<Activation kFunction>() HWY_ATTR { finish_strip<kFunction>(t_, end); });
  }

  HWY_ALIGN static constexpr float kZeros[2 * HWY_MAX_BYTES / sizeof(float)] = {};

  const Product& t_;
  const ProductPart& part_;
  const std::int64_t panel_;
  const std::int64_t last_strip_;
  const std::int64_t origin_, rows_;
  float* const tiles_;  // [together][rows][2 vectors]
};

void multiply_part(const Product& t, const ProductPart& part) {
  const FlushDenormals guard;
  PartRun(t, part).run();
}

std::int64_t count_strips_of(std::int64_t rows) { return count_strips(rows); }

std::int64_t scratch_floats(std::int64_t strips, std::int64_t together) {
  return (kDepth + together * strips * kRows) * panel_floats();
}

}  // namespace
}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {
HWY_EXPORT(multiply_part);
HWY_EXPORT(count_strips_of);
HWY_EXPORT(scratch_floats);

std::int64_t strips_of(std::int64_t rows) noexcept { return HWY_DYNAMIC_DISPATCH(count_strips_of)(rows); }
std::int64_t packed_floats(std::int64_t rows, std::int64_t inputs) noexcept {
  return rows * ((inputs + kDepth - 1) / kDepth * kDepth);
}
std::int64_t product_scratch(std::int64_t strips, std::int64_t together) noexcept {
  return HWY_DYNAMIC_DISPATCH(scratch_floats)(strips, together);
}
void multiply(const Product& task, const ProductPart& part) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply_part)(task, part);
}
}  // namespace attn::kernels
#endif
