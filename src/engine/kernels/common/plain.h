// engine/kernels/common/plain.h - what kernels are handed: pointers, sizes, flags. No type here owns anything.
#pragma once

#include <cstdint>
#include <limits>

namespace attn::kernels {

// In the order of attn::Type.
enum class Element : std::uint8_t { float32, float16, bfloat16 };

constexpr std::int64_t size_of(Element type) noexcept { return type == Element::float32 ? 4 : 2; }

// Rows of `width` numbers (said elsewhere), `stride` elements apart.
struct Rows {
  const void* data = nullptr;
  std::int64_t stride = 0;
  Element type = Element::float32;
};

inline constexpr std::int64_t kTileRows = 12;  // queries in a row of tiles
inline constexpr std::int64_t kTileKeys = 64;  // keys in a tile
inline constexpr std::int64_t kChunk = 256;    // scores of one row that are held at a time
inline constexpr float kLog2E = 1.44269504088896340736F;
inline constexpr float kNever = -std::numeric_limits<float>::infinity();  // a score that weighs nothing

inline constexpr std::int64_t kMaxWidth = 512;  // of D and E

// Keys [key, key + keys) that a row of tiles looks at. With bits, the keys are those of one tile, and bit t of word r
// says whether row r may see key + t; without, every row may see all of them.
struct Segment {
  std::int64_t key = 0;
  std::int64_t keys = 0;
  const std::uint64_t* bits = nullptr;  // kTileRows words
};

// One row of tiles against segments of at most kChunk keys in all.
struct Visit {
  std::int32_t row = 0;      // first row, in the block
  std::int32_t rows = 0;     // at most kTileRows
  std::int32_t segment = 0;  // its first one, in the block's list
  std::int32_t count = 0;
};

// Adds data[i stride + j] to score (i, j), natural; null: nothing.
struct Dense {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

// Rows of memory that will be wanted soon.
struct Prefetch {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t stride = 0, bytes = 0;  // of a row, in bytes

  Prefetch() = default;
  Prefetch(const Rows& from, std::int64_t count, std::int64_t width)
      : data(from.data), rows(count), stride(from.stride * size_of(from.type)), bytes(width * size_of(from.type)) {}
};

// How a product <q, k> becomes a score. All in units of log 2, so that the softmax needs exp2 only.
struct Scoring {
  float q_scale = 1;            // folded into q: scale log2(e), or scale / softcap
  float softcap = 0;            // softcap log2(e); 0: none
  const float* bias = nullptr;  // bias[j - i], natural; null: none
  Dense dense[2];               // of the options and of the mask
};

// Keeps weight (i, j) where hash(row key of i, j) >= threshold.
struct DropoutHash {
  std::uint64_t seed = 0;                     // of this b and h
  std::uint32_t threshold = 0;                // rate 2^32; 0: nothing is dropped
  float scale = 1;                            // 1 / (1 - rate)
  std::int64_t first_row = 0, first_key = 0;  // added to what i and j are
};

}  // namespace attn::kernels
