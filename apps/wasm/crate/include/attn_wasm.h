/* attn_wasm.h - what system libraries do elsewhere, from Rust: deflate, PNG, SHA-256. */
#pragma once

/* NOLINTBEGIN(modernize-use-using): C */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Belongs to the caller, who frees it with attn_bytes_free(). */
typedef struct AttnBytes {
  uint8_t* data;
  size_t size;
} AttnBytes;
void attn_bytes_free(AttnBytes bytes);

/* Compresses into zlib's format. */
AttnBytes attn_deflate(const uint8_t* data, size_t size);

/* Writes 32 bytes to `digest`. */
void attn_sha256(const uint8_t* data, size_t size, uint8_t* digest);

/* A PNG of width x height pixels, one byte each: an index into the palette of 3 bytes (red, green, blue) per colour.
 * Empty if that is no picture: no pixels, or more than 256 colours. */
AttnBytes attn_palette_png(uint32_t width, uint32_t height, const uint8_t* palette, size_t colours,
                           const uint8_t* pixels);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using) */
