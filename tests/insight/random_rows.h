// tests/insight/random_rows.h - tables of random attention: every row sums to 1.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "insight/tables/attention_tables.h"
#include "tests/support/random.h"

namespace attn::test {

struct RandomRows {
  std::int64_t layers = 2, heads = 3, n = 8;
  bool causal = false;
  double sharpness = 3;  // of the softmax
  std::uint64_t seed = 1;

  [[nodiscard]] insight::InMemoryTables::Tables table_data() const {
    insight::InMemoryTables::Tables out{layers, heads, nn::Matrix(layers * heads * n, n)};
    Random random(seed);
    for (std::int64_t r = 0; r < out.numbers.rows(); ++r) {
      float* const row = out.numbers.row(r);
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const double weight = causal && j > r % n ? 0 : std::exp(sharpness * random.uniform());
        row[j] = static_cast<float>(weight);
        sum += weight;
      }
      for (std::int64_t j = 0; j < n; ++j) row[j] = static_cast<float>(row[j] / sum);
    }
    return out;
  }
  [[nodiscard]] insight::InMemoryTables tables(std::vector<std::string> tokens = {}) const {
    return {table_data(), std::move(tokens), {}};
  }
};

// The message of the std::invalid_argument that `f` throws; empty if it throws nothing.
template <typename Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "";
}

}  // namespace attn::test
