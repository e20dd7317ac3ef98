// engine/kernels/attention/backward.h - gradients of fused attention: a block of keys against blocks of queries, in
// three steps.
//
// begin_keys packs a block of keys and clears its sums. backward, called once per block of queries of each head, adds
// to these sums and to dq. end_keys writes the sums as dk and dv. row_terms prepares lse and delta of the queries
// before.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

inline constexpr std::int64_t kGradientRows = 48;   // most queries in a block
inline constexpr std::int64_t kGradientKeys = 384;  // most keys in a block
inline constexpr std::int64_t kGradientTiles = kGradientKeys / kTileKeys;

// Computes lse and delta of each query in the form that `backward` reads: exp2(score - lse) is the weight. It is 0 for
// a query that saw no key (its lse becomes +inf) and NaN for one whose d_out, d_lse, out or lse is not finite.
struct RowTerms {
  Rows out, d_out;  // float32
  std::int64_t value_width = 0;
  const float* lse = nullptr;
  std::int64_t lse_stride = 0;
  const float* d_lse = nullptr;  // null: none
  std::int64_t d_lse_stride = 0;
  std::int64_t rows = 0;
  float* to_lse = nullptr;  // in units of log 2
  float* to_delta = nullptr;
};
void row_terms(const RowTerms& task) noexcept;

struct KeyBlock {
  Rows k, v;  // from its first key on
  std::int64_t keys = 0;
  std::int64_t width = 0, value_width = 0;  // D, E
  float scale = 1;                          // dq = scale dS K
  float* memory = nullptr;                  // key_block_floats() floats, aligned to 64 bytes
};
std::int64_t key_block_floats(std::int64_t keys, std::int64_t width, std::int64_t value_width) noexcept;
void begin_keys(const KeyBlock& block) noexcept;

// The mask of one tile: whether any pair is visible, and which. Bit t of word r: row r sees key t.
struct TileCover {
  bool seen = false;
  const std::uint64_t* bits = nullptr;  // kTileRows words; null: every pair, if seen
};

struct Backward {
  KeyBlock block;
  std::int64_t first_key = 0;  // of the block, in positions of the sequence

  Rows q, d_out;               // of this head, from query 0; d_out is float32
  const float* lse = nullptr;  // of query 0, as row_terms wrote it
  const float* delta = nullptr;
  Scoring scoring;
  DropoutHash dropout;

  std::int64_t first = 0;            // query of the block's first row, a multiple of kTileRows
  std::int64_t rows = 0;             // at most kGradientRows
  std::int64_t next_rows = 0;        // rows of the next block, prefetched along the way; 0: none
  const TileCover* tiles = nullptr;  // [rows / kTileRows][kGradientTiles]

  float* dq = nullptr;  // of query 0; added to
  std::int64_t dq_stride = 0;
  float* d_bias = nullptr;   // added to at [j - i]; null: not wanted
  float* d_dense = nullptr;  // added to at [i d_dense_stride + j]; null: not wanted
  std::int64_t d_dense_stride = 0;

  float* scratch = nullptr;  // backward_scratch() floats, aligned to 64 bytes
};
std::int64_t backward_scratch(std::int64_t width, std::int64_t value_width) noexcept;
void backward(const Backward& task) noexcept;

// Writes the sums: dk and dv point to the rows of the block's first key, whose rows are dk_stride and dv_stride apart.
struct EndKeys {
  KeyBlock block;
  float dk_scale = 1;
  float* dk = nullptr;
  float* dv = nullptr;
  std::int64_t dk_stride = 0, dv_stride = 0;
};
void end_keys(const EndKeys& task) noexcept;

}  // namespace attn::kernels
