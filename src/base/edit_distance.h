// base/edit_distance.h - how much two names differ, for messages that name the nearest ones.
#pragma once

#include <cstddef>
#include <string_view>

namespace attn::base {

// Levenshtein's distance, in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace attn::base
