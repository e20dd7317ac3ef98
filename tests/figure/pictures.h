// tests/figure/pictures.h - sample figures, and helpers that inspect drawn ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "figure/scene/figure.h"

namespace attn::figure::test {

struct Pixels {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;

  [[nodiscard]] Colour at(std::int64_t x, std::int64_t y) const {
    const std::uint8_t* p = rgb.data() + 3 * (y * width + x);
    return {p[0], p[1], p[2]};
  }
};
Pixels decoded(const std::string& png);  // by libspng; throws std::runtime_error

// Tokens of many scripts, some with invisible or unsafe characters.
std::vector<std::string> hard_tokens();

// Rows that sum to 1, reproducible from the seed on every machine.
nn::Matrix weights(std::int64_t rows, std::int64_t columns, std::uint32_t seed);
nn::Matrix table(std::int64_t rows, std::int64_t columns, const std::vector<float>& cells);
nn::Matrix copy_of(const nn::Matrix& cells);

Heatmap heatmap(std::int64_t rows, std::int64_t columns, std::uint32_t seed = 1);  // labelled "0", "1", ...

// One figure of every kind, by name.
struct Sample {
  std::string name;
  Figure figure;
};
std::vector<Sample> samples();

}  // namespace attn::figure::test
