// base/hash.h - a hash of text that is the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace attn::base {

inline constexpr std::uint64_t kHashOfNothing = 14695981039346656037U;

// FNV-1a. Continues from `before`, the hash of the text so far.
constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t before = kHashOfNothing) noexcept {
  for (const char byte : text) before = (before ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return before;
}

}  // namespace attn::base
