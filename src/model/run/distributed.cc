#include "model/run/distributed.h"

namespace attn::model {

std::vector<std::int64_t> places_of(const RingSplit& split, int rank) {
  std::vector<std::int64_t> places;
  places.reserve(static_cast<std::size_t>(split.size(rank)));
  for (const Stretch& stretch : split.of(rank)) {
    for (std::int64_t i = stretch.begin; i < stretch.end; ++i) places.push_back(i);
  }
  return places;
}

}  // namespace attn::model
