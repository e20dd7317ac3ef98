// tests/support/safetensors_files.h - builds valid and invalid safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace attn::test {

// Length, header and data, without any check.
inline std::string raw_file(const std::string& header, const std::string& data = "") {
  std::string length(8, '\0');
  const std::uint64_t n = header.size();
  std::memcpy(length.data(), &n, sizeof n);
  return length + header + data;
}

// The entry of one tensor.
inline std::string entry(const std::string& name, const std::string& shape, std::int64_t begin, std::int64_t end,
                         const std::string& dtype = "F32") {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

// A file of entries with this many bytes of data, all 0.
inline std::string file_of_entries(const std::string& entries, std::size_t data_bytes) {
  return raw_file("{" + entries + "}", std::string(data_bytes, '\0'));
}

// Some data, as floats.
inline const std::vector<float> kSixNumbers = {1, 2, 3, 4, 5, 6};

}  // namespace attn::test
