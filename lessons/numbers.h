// lessons/numbers.h - prints the numbers of a lesson's steps for the tests: one line of JSON.
#pragma once

#include <cmath>
#include <cstdio>
#include <vector>

namespace lesson {

struct Numbers {
  const char* name;
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

inline void print_list(const Numbers& one, std::size_t axis, std::size_t& next) {
  if (axis == one.shape.size()) {
    std::printf("%.9g", static_cast<double>(one.values[next++]));
    return;
  }
  for (std::size_t n = 0; n < one.shape[axis]; ++n) {
    std::printf(n == 0 ? "[" : ", ");
    print_list(one, axis + 1, next);
  }
  std::printf("]");
}

inline void print(const std::vector<Numbers>& all) {
  for (std::size_t n = 0; n < all.size(); ++n) {
    std::printf("%s\"%s\": ", n == 0 ? "{" : ", ", all[n].name);
    std::size_t next = 0;
    print_list(all[n], 0, next);
  }
  std::printf("}\n");
}

inline bool close(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t n = 0; n < a.size(); ++n)
    if (std::abs(a[n] - b[n]) > 1e-5F * (1 + std::abs(b[n]))) return false;
  return true;
}

}  // namespace lesson
