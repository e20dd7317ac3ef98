// engine/mask/mask_join.h - joins many masks into one.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/mask.h"

namespace attn::detail {

enum class Join : std::uint8_t { both, any };  // &, |

// Joins masks by one operator into one flat node: 100,000 masks joined at once have depth 2. Throws
// std::invalid_argument as operator& does. masks must not be empty.
Mask join(Join how, const std::vector<Mask>& masks);

inline int depth(const Mask& mask) { return mask.node() ? mask.node()->depth() : 1; }

}  // namespace attn::detail
