// engine/mask/mask_natten.cc - neighbourhood attention on a canvas: which keys lie in the kernel of a query.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "attn/mask.h"
#include "engine/mask/mask_bits.h"

namespace attn {
namespace {

using detail::bits_between;
using detail::kNoKey;
using detail::reach;

constexpr std::int64_t kLongestSide = std::int64_t{1} << 31;

void check_side(const char* side, std::int64_t canvas, std::int64_t kernel) {
  if (canvas < 1 || canvas > kLongestSide)
    throw std::invalid_argument(std::string("mask: the canvas of natten has the ") + side + " " +
                                std::to_string(canvas) + ", but it must be from 1 to " + std::to_string(kLongestSide));
  if (kernel < 1 || kernel > canvas || kernel % 2 == 0)
    throw std::invalid_argument(std::string("mask: the kernel of natten has the ") + side + " " +
                                std::to_string(kernel) + ", but it must be odd and from 1 to " +
                                std::to_string(canvas));
}

// Positions on one side of the canvas that queries at `from` to `to` see: all of the queries, or at least one.
struct SeenSide {
  std::int64_t all_first, all_last;
  std::int64_t any_first, any_last;
};

SeenSide seen_side(std::int64_t from, std::int64_t to, std::int64_t canvas, std::int64_t kernel) {
  const std::int64_t half = kernel / 2;
  const std::int64_t low = std::clamp(from, half, canvas - 1 - half), high = std::clamp(to, half, canvas - 1 - half);
  return {high - half, low + half, low - half, high + half};
}

}  // namespace

Natten::Natten(Size c, Size k) : canvas(c), kernel(k) {
  check_side("width", canvas.width, kernel.width);
  check_side("height", canvas.height, kernel.height);
}

std::uint64_t Natten::row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
  const std::int64_t y = i / canvas.width, x = i % canvas.width;
  if (y >= canvas.height) return kNoKey;
  const SeenSide rows = seen_side(y, y, canvas.height, kernel.height);
  const SeenSide columns = seen_side(x, x, canvas.width, kernel.width);
  std::uint64_t bits = kNoKey;
  const std::int64_t last = std::min(reach(j, 63) / canvas.width, rows.all_last);
  for (std::int64_t row = std::max(j / canvas.width, rows.all_first); row <= last; ++row)
    bits |= bits_between(j, row * canvas.width + columns.all_first, row * canvas.width + columns.all_last);
  return bits;
}

Cover Natten::cover(const Tile& tile) const {
  const std::int64_t i_last = tile.i1 - 1, j_last = tile.j1 - 1;
  const std::int64_t y0 = tile.i0 / canvas.width, y1 = i_last / canvas.width;
  const std::int64_t row0 = tile.j0 / canvas.width, row1 = j_last / canvas.width;
  if (y0 >= canvas.height || row0 >= canvas.height) return Cover::none;
  const SeenSide rows = seen_side(y0, y1, canvas.height, kernel.height);
  if (row1 < rows.any_first || row0 > rows.any_last) return Cover::none;
  if (y0 != y1 || row0 != row1) return Cover::some;
  const SeenSide columns = seen_side(tile.i0 % canvas.width, i_last % canvas.width, canvas.width, kernel.width);
  const std::int64_t column0 = tile.j0 % canvas.width, column1 = j_last % canvas.width;
  if (column1 < columns.any_first || column0 > columns.any_last) return Cover::none;
  return column0 >= columns.all_first && column1 <= columns.all_last ? Cover::all : Cover::some;
}

void Natten::check(const Extent& extent) const {
  const std::int64_t tokens = canvas.width * canvas.height;
  if (extent.queries == tokens && extent.keys == tokens) return;
  throw std::invalid_argument("mask: natten has a canvas of " + std::to_string(canvas.width) + " x " +
                              std::to_string(canvas.height) + " = " + std::to_string(tokens) + " tokens, but N, M = " +
                              std::to_string(extent.queries) + ", " + std::to_string(extent.keys));
}

std::string Natten::text() const {
  const auto pair = [&](std::int64_t a, std::int64_t b) { return std::to_string(a) + "," + std::to_string(b); };
  if (canvas.height == 1) return "natten(" + pair(canvas.width, kernel.width) + ")";
  return "natten(" + pair(canvas.width, canvas.height) + "," + pair(kernel.width, kernel.height) + ")";
}

template struct detail::RuleNode<Natten>;

}  // namespace attn
