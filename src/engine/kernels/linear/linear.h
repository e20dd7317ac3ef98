// engine/kernels/linear/linear.h - linear attention of one head of keys and the heads of queries that share it.
//
// What a stretch of keys comes to is a sum: S = sum_j phi(k[j])^T v[j] and z = sum_j phi(k[j]), in one run of floats.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

// In the order of attn::Feature.
enum class Phi : std::uint8_t { elu_plus_one, relu, identity };

// Keys are summed up in chunks. Where a stretch of keys is cut, it is cut at a multiple of this: then the cut does not
// show in the sums.
inline constexpr std::int64_t kLinearChunk = 64;

// The sum as floats: S [F rounded up to 4][stride], then z [F rounded up to 16]. What is padding is 0.
struct LinearWidths {
  std::int64_t features = 0;  // F
  std::int64_t values = 0;    // E

  [[nodiscard]] constexpr std::int64_t stride() const noexcept { return (values + 15) / 16 * 16; }
  [[nodiscard]] constexpr std::int64_t padded_features() const noexcept { return (features + 15) / 16 * 16; }
  [[nodiscard]] constexpr std::int64_t z() const noexcept { return (features + 3) / 4 * 4 * stride(); }
  [[nodiscard]] constexpr std::int64_t sum_floats() const noexcept { return z() + padded_features(); }
};

struct Linear {
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

// Queries of `heads` heads. out likewise: rows out_stride apart.
struct LinearQueries {
  Rows q;
  std::int64_t q_head = 0;  // elements from head to head
  float* out = nullptr;
  std::int64_t out_stride = 0;
  std::int64_t out_head = 0;
  std::int64_t heads = 0;
  std::int64_t count = 0;
};

// The sum of the keys before the present one, in two terms. `now` is kept equal to before + part; without `before` it
// is part itself, and now = part. All are aligned to 64 bytes.
struct LinearSums {
  const float* before = nullptr;
  float* part = nullptr;
  float* now = nullptr;
};

// sum += the keys.
void add_linear_keys(const Linear& task, const LinearKeys& keys, float* sum) noexcept;

// Every query against the sum. A row whose divisor is 0 becomes 0.
void answer_linear(const Linear& task, const LinearQueries& queries, const float* sum) noexcept;

// Query i against the sums and the keys up to i, which are then in the sums: part has the bits that add_linear_keys
// gives it. queries.count = keys.count.
void answer_linear_causally(const Linear& task, const LinearQueries& queries, const LinearKeys& keys,
                            const LinearSums& sums) noexcept;

}  // namespace attn::kernels
