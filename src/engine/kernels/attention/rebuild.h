// engine/kernels/attention/rebuild.h - weights from queries, keys and lse: p = exp(score - lse).
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

struct Rebuild {
  Rows q;  // rows of this head, from query 0
  std::int64_t width = 0;
  const float* keys = nullptr;  // panels, from key `origin` on
  std::int64_t origin = 0;
  Scoring scoring;

  std::int64_t first = 0;  // query of the first row
  std::int64_t rows = 0;   // at most kTileRows
  const Segment* segments = nullptr;
  const Visit* visits = nullptr;
  std::int64_t visit_count = 0;

  const float* lse = nullptr;  // of query 0
  std::int64_t lse_stride = 0;

  // The keys of the window are [begin, end); `to` points to the window's row of query `first`.
  std::int64_t begin = 0, end = 0;
  float* to = nullptr;
  std::int64_t stride = 0;

  float* scratch = nullptr;  // rebuild_scratch() floats, aligned to 64 bytes
};

std::int64_t rebuild_scratch() noexcept;
void rebuild(const Rebuild& task) noexcept;

}  // namespace attn::kernels
