#include "base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace attn::base {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t swap = corner + (a[i] != b[j] ? 1 : 0);
      corner = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, corner + 1, swap});
    }
  }
  return row.back();
}

}  // namespace attn::base
