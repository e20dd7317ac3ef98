// engine/kernels/attention/forward.h - fused attention of one block of queries of one head.
#pragma once

#include <cstdint>

#include "engine/kernels/attention/pack.h"
#include "engine/kernels/common/plain.h"

namespace attn::kernels {

// The task of one call. Pointers "of query 0" are indexed by absolute query numbers, first ... first + rows - 1.
struct Forward {
  Rows q;                       // rows of this head, from query 0
  std::int64_t width = 0;       // D
  const float* keys = nullptr;  // panels (pack.h)
  ValueLayout values;
  std::int64_t origin = 0;                   // the first key in keys and values, a multiple of kTileKeys
  std::int64_t value_width = 0;              // E
  const std::uint8_t* not_finite = nullptr;  // one flag per key tile, from origin on (pack.h); null: V is finite

  Scoring scoring;
  DropoutHash dropout;
  float sink = 0;  // in units of log 2; -inf: none

  std::int64_t first = 0;  // query of the block's first row
  std::int64_t rows = 0;
  const Segment* segments = nullptr;
  const Visit* visits = nullptr;
  std::int64_t visit_count = 0;

  float* out = nullptr;  // of query 0
  std::int64_t out_stride = 0;
  float* lse = nullptr;  // of query 0; null: not wanted
  std::int64_t lse_stride = 0;

  float* weights = nullptr;  // of query 0, [N][weight_stride]; forward_with_weights only
  std::int64_t weight_stride = 0;
  std::int64_t key_count = 0;  // M

  Prefetch prefetch[3];  // inputs of the next task, fetched into the L2 cache along the way

  float* scratch = nullptr;  // forward_scratch() floats, aligned to 64 bytes
};

// Floats of scratch for blocks of `rows` queries.
std::int64_t forward_scratch(std::int64_t rows, std::int64_t value_width) noexcept;

// Computes out and lse of the block. Each row of tiles must visit its keys in rising order.
void forward(const Forward& task) noexcept;

// Computes the same and also writes the rows of weights, before dropout. All visits of one row of tiles must follow
// each other directly.
std::int64_t forward_with_weights_scratch(std::int64_t keys, std::int64_t value_width) noexcept;
void forward_with_weights(const Forward& task) noexcept;

}  // namespace attn::kernels
