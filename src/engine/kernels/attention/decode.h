// engine/kernels/attention/decode.h - a few queries against many keys that are read once, where they lie.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

// The query heads that share one key head, with a few queries each, against one part of the keys. Row r of the result
// is query r % queries of head r / queries.
struct Decode {
  Rows q;                        // of the first head
  std::int64_t head_stride = 0;  // elements of q from head to head
  std::int64_t heads = 0, queries = 0;
  Rows k, v;               // from key 0
  std::int64_t width = 0;  // D
  std::int64_t value_width = 0;
  const Scoring* scoring = nullptr;      // [heads]
  const DropoutHash* dropout = nullptr;  // [heads]

  const Segment* segments = nullptr;
  std::int64_t segment_count = 0;

  float* out = nullptr;      // [heads queries][E]
  float* lse = nullptr;      // [heads queries], natural
  float* scratch = nullptr;  // decode_scratch() floats, aligned to 64 bytes
};

std::int64_t decode_scratch(std::int64_t rows, std::int64_t value_width) noexcept;
void decode(const Decode& task) noexcept;

}  // namespace attn::kernels
