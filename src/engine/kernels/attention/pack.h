// engine/kernels/attention/pack.h - copies keys and values into the order in which the kernels read them.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"

namespace attn::kernels {

// Floats per vector of the instruction set in use.
std::int64_t lanes() noexcept;

// Size of the panels of `keys` keys, in floats.
std::int64_t panel_floats(std::int64_t keys, std::int64_t width) noexcept;

// Copies keys [first, first + count) of k into panels [D][2 vectors], as floats. first is a multiple of kTileKeys;
// panels points to where key 0 would lie. The last vector is padded with zeros.
struct PackKeys {
  Rows k;
  std::int64_t first = 0, count = 0;
  std::int64_t width = 0;  // D
  float* panels = nullptr;
};
void pack_keys(const PackKeys& task) noexcept;

// Whether the forward kernels can read these rows in place: float32, and a whole number of vectors wide.
bool values_are_ready(const Rows& v, std::int64_t width) noexcept;

// For each tile t of kTileKeys keys in [first, first + count), sets flags[t] if some value in the tile is infinite or
// NaN, unless flags is null. first is a multiple of kTileKeys. Both functions return the or of the flags.
//
// pack_values also copies the values as floats into columns of two vectors: [E / 2 vectors][keys][2 vectors], padded
// with zeros, so that a product reads them sequentially.
struct PackValues {
  Rows v;
  std::int64_t first = 0, count = 0;
  std::int64_t width = 0;  // E
  std::int64_t keys = 0;   // rows of `to`
  float* to = nullptr;     // value_floats() floats; pack_values only
  std::uint8_t* flags = nullptr;
};
std::int64_t value_floats(std::int64_t keys, std::int64_t width) noexcept;
bool pack_values(const PackValues& task) noexcept;
bool find_not_finite(const PackValues& task) noexcept;  // for values_are_ready() values; flags is not null

// Where the forward kernels find the values, packed or in place.
struct ValueLayout {
  const float* data = nullptr;
  std::int64_t stride = 0;       // from key to key
  std::int64_t column_step = 0;  // from one pair of vectors to the next
};
ValueLayout packed_layout(const float* values, std::int64_t keys) noexcept;
ValueLayout ready_layout(const Rows& v) noexcept;

}  // namespace attn::kernels
