// server/http/compress.h - compresses and hashes bytes: by zlib and OpenSSL (compress.cc), or by Rust
// (compress_wasm.cc).
#pragma once

#include <string>
#include <string_view>

namespace attn::server {

// Whether a response should be compressed: it travels, if only to a browser on the same machine.
bool compresses_responses() noexcept;
// Both throw only std::bad_alloc.
std::string gzipped(std::string_view bytes);
std::string deflated(std::string_view bytes);  // a zlib stream, for DecompressionStream("deflate")

std::string sha256(std::string_view bytes);  // 32 bytes

}  // namespace attn::server
