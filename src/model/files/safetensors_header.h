// model/files/safetensors_header.h - parses and validates the header of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/files/safetensors.h"

namespace attn::model {

constexpr std::int64_t kLengthBytes = 8;                // the header's length, little-endian, precedes it
constexpr std::int64_t kMostHeaderBytes = 100'000'000;  // the limit of the format's reference reader

// Size of a tensor in bytes; none if a dimension is negative or the product overflows 64 bits. A dimension of 0 does
// not excuse the others, since strides are products of parts of a shape.
std::optional<std::int64_t> stored_bytes(Dtype dtype, const std::vector<std::int64_t>& shape) noexcept;

struct SafeTensorsHeader {
  std::map<std::string, StoredTensor, std::less<>> tensors;  // `data` is not set yet
  std::map<std::string, std::string, std::less<>> metadata;
};

// The position of a header's text in its file.
struct HeaderPlace {
  std::string path;
  std::int64_t data_begin = 0;  // offset in the file at which the header ends
  std::int64_t file_bytes = 0;
};

// Parses the JSON text as a stream, without building a tree: nesting deeper than the format allows is refused where it
// begins, and memory stays proportional to the text. Each entry is validated on its own. Throws attn::Error.
SafeTensorsHeader read_safetensors_header(std::string_view text, const HeaderPlace& place);

// The start of a file: header length, text, and spaces that align the data to 64 bytes. Throws std::invalid_argument
// for tensors that no file can hold.
std::string safetensors_header(const std::vector<TensorToStore>& tensors,
                               const std::map<std::string, std::string, std::less<>>& metadata);

}  // namespace attn::model
