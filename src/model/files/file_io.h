// model/files/file_io.h - files that are read or made as a whole, and the words in which their problems are told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/new_file.h"

namespace attn::model {

using base::NewFile;
using base::system_words;

// Text of unknown origin for one line of a message: control characters and broken UTF-8 become '?', and what is longer
// than 120 bytes ends in "...". in_quotes() puts it between apostrophes.
std::string one_line(std::string_view text);
std::string in_quotes(std::string_view text);

// An open file. Refuses what is not a regular file: reading a pipe or a device could wait for ever.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& file);  // throws attn::Error
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

// The whole file. Throws attn::Error, also if it is longer than `most` bytes.
std::string read_file(const std::filesystem::path& file, std::int64_t most);

}  // namespace attn::model
