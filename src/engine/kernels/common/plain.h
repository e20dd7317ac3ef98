// engine/kernels/common/plain.h - plain structs that describe the work of a kernel: pointers, sizes, flags. No type
// here owns memory.
#pragma once

#include <cstdint>
#include <limits>

namespace attn::kernels {

// In the order of attn::Type.
enum class Element : std::uint8_t { float32, float16, bfloat16 };

constexpr std::int64_t size_of(Element type) noexcept { return type == Element::float32 ? 4 : 2; }

// Rows of numbers, `stride` elements apart. Their width is a member of the struct that holds them.
struct Rows {
  const void* data = nullptr;
  std::int64_t stride = 0;
  Element type = Element::float32;
};

inline constexpr std::int64_t kTileRows = 12;  // queries in a row of tiles
inline constexpr std::int64_t kTileKeys = 64;  // keys in a tile
inline constexpr std::int64_t kChunk = 256;    // keys of one row whose scores are held at a time
inline constexpr float kLog2E = 1.44269504088896340736F;
inline constexpr float kNever = -std::numeric_limits<float>::infinity();  // a score that weighs nothing

inline constexpr std::int64_t kMaxWidth = 512;  // of D and E

// Keys [key, key + keys) that a row of tiles visits. Without bits, every row sees all of them. With bits, they are the
// keys of one tile, and bit t of word r is set if row r sees key + t.
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
struct DenseBias {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

// Rows of memory to prefetch.
struct Prefetch {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t stride = 0, bytes = 0;  // of a row, in bytes

  Prefetch() = default;
  Prefetch(const Rows& from, std::int64_t count, std::int64_t width)
      : data(from.data), rows(count), stride(from.stride * size_of(from.type)), bytes(width * size_of(from.type)) {}
};

// How a product <q, k> becomes a score. Scores are in units of log 2 (natural scores times log2(e)), so that the
// softmax needs exp2 only. Biases are natural; kernels convert them.
struct Scoring {
  float q_scale = 1;            // folded into q: scale log2(e), or scale / softcap
  float softcap = 0;            // softcap log2(e); 0: none
  const float* bias = nullptr;  // bias[j - i], natural; null: none
  DenseBias dense[2];           // of the options and of the mask
};

// Keeps weight (i, j) if hash(row key of i, j) >= threshold (dropout.h).
struct DropoutHash {
  std::uint64_t seed = 0;                     // of this b and h
  std::uint32_t threshold = 0;                // rate 2^32; 0: nothing is dropped
  float scale = 1;                            // 1 / (1 - rate)
  std::int64_t first_row = 0, first_key = 0;  // added to i and j
};

}  // namespace attn::kernels
