// tests/support/matrix.h - matrices of random numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "nn/infer/matrix.h"
#include "tests/support/random.h"

namespace attn::test {

// Normally distributed numbers, the same in every run for a seed.
inline nn::Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  nn::Matrix out(rows, columns);
  for (std::int64_t i = 0; i < rows * columns; ++i) out.data()[i] = bell(seed, static_cast<std::uint64_t>(i));
  return out;
}

inline std::shared_ptr<const nn::Matrix> shared_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return std::make_shared<const nn::Matrix>(random_matrix(rows, columns, seed));
}

}  // namespace attn::test
