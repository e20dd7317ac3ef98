// kernels/pack.h - keys and values in the order in which the kernels read them.
#pragma once

#include <cstdint>

#include "kernels/plain.h"

namespace attn::kernels {

// Floats in a vector of the instruction set in use.
std::int64_t lanes() noexcept;

// Floats that the panels of `keys` keys take.
std::int64_t panel_floats(std::int64_t keys, std::int64_t width) noexcept;

// Keys [first, first + count) of k into panels [D][2 vectors]; first is a multiple of kTileKeys. panels is where key 0
// would lie. Keys up to the end of the last panel become zeros.
struct PackKeys {
  Rows k;
  std::int64_t first = 0, count = 0;
  std::int64_t width = 0;  // D
  float* panels = nullptr;
};
void pack_keys(const PackKeys& task) noexcept;

// Whether the forward kernels can read these rows where they are: float, and a whole number of vectors wide.
bool values_are_ready(const Rows& v, std::int64_t width) noexcept;

// Values [first, first + count) as float rows, padded with zeros to whole vectors: to is where row 0 would lie, rows
// are padded_width apart.
std::int64_t padded_width(std::int64_t width) noexcept;
struct PackValues {
  Rows v;
  std::int64_t first = 0, count = 0;
  std::int64_t width = 0;  // E
  float* to = nullptr;
};
void pack_values(const PackValues& task) noexcept;

// Sets flags[t], for the tiles of kTileKeys keys in [first, first + count), to whether some value in the tile is
// infinite or NaN. first is a multiple of kTileKeys. Gives the or of the flags.
struct FindNotFinite {
  const float* v = nullptr;  // row 0
  std::int64_t stride = 0;
  std::int64_t first = 0, count = 0;
  std::int64_t width = 0;
  std::uint8_t* flags = nullptr;
};
bool find_not_finite(const FindNotFinite& task) noexcept;

}  // namespace attn::kernels
