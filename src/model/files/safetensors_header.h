// model/files/safetensors_header.h - what a safetensors file says of itself, read and checked entry by entry.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/files/safetensors.h"

namespace attn::model {

constexpr std::int64_t kLengthBytes = 8;                // before the header: its length, little-endian
constexpr std::int64_t kMostHeaderBytes = 100'000'000;  // as the format's own reader has it

// Bytes of a tensor; nothing if a size is negative or 64 bits do not hold the product. A size of 0 does not excuse the
// others, since strides are products of parts of a shape.
std::optional<std::int64_t> stored_bytes(Dtype dtype, const std::vector<std::int64_t>& shape) noexcept;

struct SafeTensorsHeader {
  std::map<std::string, StoredTensor, std::less<>> tensors;  // data not yet set
  std::map<std::string, std::string, std::less<>> metadata;
};

// Where a header's text stands.
struct HeaderPlace {
  std::string path;
  std::int64_t data_begin = 0;  // in the file: where the header ends
  std::int64_t file_bytes = 0;
};

// Reads the JSON text as it comes, without a tree of it: what is nested deeper than the format allows is refused where
// it begins, and memory stays in proportion to the text. Every entry has been checked for itself. Throws attn::Error.
SafeTensorsHeader read_safetensors_header(std::string_view text, const HeaderPlace& place);

// What such a file begins with: length, text, and as many spaces as bring the data to a multiple of 64 bytes. Throws
// std::invalid_argument for what no file can hold.
std::string safetensors_header(const std::vector<TensorToStore>& tensors,
                               const std::map<std::string, std::string, std::less<>>& metadata);

}  // namespace attn::model
