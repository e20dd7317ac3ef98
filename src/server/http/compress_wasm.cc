// server/http/compress_wasm.cc - responses go to the same page without travelling; only files are compressed.
#include <attn_wasm.h>

#include "server/http/compress.h"

namespace attn::server {

namespace {

const std::uint8_t* data_of(std::string_view bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

}  // namespace

bool compresses_responses() noexcept { return false; }
std::string gzipped(std::string_view) { return {}; }

std::string deflated(std::string_view bytes) {
  const AttnBytes packed = attn_deflate(data_of(bytes), bytes.size());
  std::string out(reinterpret_cast<const char*>(packed.data), packed.size);
  attn_bytes_free(packed);
  return out;
}

std::string sha256(std::string_view bytes) {
  std::string digest(32, '\0');
  attn_sha256(data_of(bytes), bytes.size(), reinterpret_cast<std::uint8_t*>(digest.data()));
  return digest;
}

}  // namespace attn::server
