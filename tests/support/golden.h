// tests/support/golden.h - reads tests/golden/attention.golden, which make_attention.py generates.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "attn/view.h"

namespace attn::test {

struct GoldenCase {
  std::string name;
  std::map<std::string, std::string> keys;
  std::vector<float> out;  // [B, H, N, E]
  std::vector<float> lse;  // [B, H, N], empty for linear attention

  [[nodiscard]] const std::string& text(const std::string& key) const;
  [[nodiscard]] std::int64_t whole(const std::string& key) const;
  [[nodiscard]] float number(const std::string& key) const;
  [[nodiscard]] Type type() const;
  // Seed of stream `n` of this case's random numbers.
  [[nodiscard]] std::uint64_t stream(std::uint64_t n) const;
};

// Prints the name of the case for a failing test.
inline void PrintTo(const GoldenCase& c, std::ostream* out) { *out << c.name; }

// Throws std::runtime_error if the file is missing or ends too early.
std::vector<GoldenCase> read_golden(const std::string& path);

}  // namespace attn::test
