#include "server/http/compress.h"

#include <openssl/sha.h>
#include <zlib.h>

#include <algorithm>
#include <new>

namespace attn::server {

namespace {

// zlib's windowBits: 15, plus 16 for a gzip header and trailer.
std::string compressed(std::string_view bytes, int window_bits) {
  constexpr int kLevel = 6, kMemory = 8;
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, window_bits, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  // zlib counts in 32 bits. Responses are far smaller, but must never be truncated.
  std::size_t left = bytes.size(), room = out.size();
  int state = Z_OK;
  while (state == Z_OK) {
    const auto in = static_cast<uInt>(std::min<std::size_t>(left, 1U << 30));
    const auto space = static_cast<uInt>(std::min<std::size_t>(room, 1U << 30));
    stream.avail_in = in;
    stream.avail_out = space;
    state = deflate(&stream, in == left ? Z_FINISH : Z_NO_FLUSH);
    left -= in - stream.avail_in;
    room -= space - stream.avail_out;
  }
  deflateEnd(&stream);
  out.resize(out.size() - room);
  return out;
}

}  // namespace

bool compresses_responses() noexcept { return true; }
std::string gzipped(std::string_view bytes) { return compressed(bytes, 15 + 16); }
std::string deflated(std::string_view bytes) { return compressed(bytes, 15); }

std::string sha256(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace attn::server
