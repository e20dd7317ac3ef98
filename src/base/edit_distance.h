// base/edit_distance.h - the distance of two names, for messages that suggest similar ones.
#pragma once

#include <cstddef>
#include <string_view>

namespace attn::base {

// Levenshtein distance in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace attn::base
