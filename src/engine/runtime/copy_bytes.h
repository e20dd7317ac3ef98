// engine/runtime/copy_bytes.h - std::memcpy that may be called with nothing to copy.
#pragma once

#include <cstddef>
#include <cstring>

namespace attn {

// Neither pointer may be null for std::memcpy, even if there are no bytes; those of an empty vector may be.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace attn
