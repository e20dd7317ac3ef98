// model/run/distributed.h - a text that several processes share: each holds its own rows, split by RingSplit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/ring.h"

namespace attn::model {

// Positions of a rank's rows in the whole text, in order.
std::vector<std::int64_t> places_of(const RingSplit& split, int rank);

// A rank's elements of a list over the whole text.
template <typename T>
std::vector<T> part_of(std::span<const T> whole, const RingSplit& split, int rank) {
  std::vector<T> part;
  part.reserve(static_cast<std::size_t>(split.size(rank)));
  for (const Stretch& stretch : split.of(rank)) {
    part.insert(part.end(), whole.begin() + stretch.begin, whole.begin() + stretch.end);
  }
  return part;
}

}  // namespace attn::model
