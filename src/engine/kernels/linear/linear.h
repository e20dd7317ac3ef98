// engine/kernels/linear/linear.h - linear attention of one head of keys and the heads of queries that share it.
//
// The state of any stretch of keys is a sum: S = sum_j phi(k[j])^T v[j] and z = sum_j phi(k[j]), stored as one array of
// floats (LinearWidths). States of several stretches are added number by number.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

// In the order of attn::Feature.
enum class Phi : std::uint8_t { elu_plus_one, relu, identity };

// Keys per chunk. Callers that split a stretch of keys do so at a multiple of this, so that the split does not change
// the sums within it.
inline constexpr std::int64_t kLinearChunk = 64;

// The layout of a sum: S [F rounded up to 4][stride], then z [F rounded up to 16]. Padding is 0.
struct LinearWidths {
  std::int64_t features = 0;  // F
  std::int64_t values = 0;    // E

  [[nodiscard]] constexpr std::int64_t stride() const noexcept { return (values + 15) / 16 * 16; }
  [[nodiscard]] constexpr std::int64_t padded_features() const noexcept { return (features + 15) / 16 * 16; }
  [[nodiscard]] constexpr std::int64_t z() const noexcept { return (features + 3) / 4 * 4 * stride(); }
  [[nodiscard]] constexpr std::int64_t sum_floats() const noexcept { return z() + padded_features(); }
};

struct LinearTask {
  LinearWidths widths;
  Phi phi = Phi::elu_plus_one;
  float epsilon = 0;
  float* scratch = nullptr;  // linear_scratch() floats, aligned to 64 bytes
};
std::int64_t linear_scratch(const LinearWidths& widths) noexcept;

struct LinearKeys {
  Rows k;
  Rows v;
  std::int64_t count = 0;
};

// Queries of `heads` heads, and where their output goes.
struct LinearQueries {
  Rows q;
  std::int64_t q_head = 0;  // elements from head to head
  float* out = nullptr;
  std::int64_t out_stride = 0;
  std::int64_t out_head = 0;
  std::int64_t heads = 0;
  std::int64_t count = 0;
};

// The sum of all keys before the current one, in two terms: now = before + part. Without `before`, `now` and `part` are
// the same array. All are aligned to 64 bytes.
struct LinearSums {
  const float* before = nullptr;
  float* part = nullptr;
  float* now = nullptr;
};

// Adds the keys to sum.
void add_linear_keys(const LinearTask& task, const LinearKeys& keys, float* sum) noexcept;

// Computes out of every query from the sum. A row whose divisor is 0 becomes 0.
void answer_linear(const LinearTask& task, const LinearQueries& queries, const float* sum) noexcept;

// Computes out of query i from the sums and the keys up to i, and adds all keys to the sums: `part` gets the bits that
// add_linear_keys would give it. queries.count = keys.count.
void answer_linear_causally(const LinearTask& task, const LinearQueries& queries, const LinearKeys& keys,
                            const LinearSums& sums) noexcept;

}  // namespace attn::kernels
