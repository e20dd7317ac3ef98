// model/files/file_io.h - reads whole files and formats names for error messages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/new_file.h"

namespace attn::model {

using base::NewFile;
using base::system_words;

// Text of unknown origin, made safe for one line of a message: control characters and invalid UTF-8 become '?', and
// text over 120 bytes ends in "...". in_quotes() adds apostrophes around it.
std::string one_line(std::string_view text);
std::string in_quotes(std::string_view text);

// An open file. Accepts regular files only, since reading a pipe or a device could block for ever.
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

// Reads the whole file. Throws attn::Error, also if it is longer than `most` bytes.
std::string read_file(const std::filesystem::path& file, std::int64_t most);

}  // namespace attn::model
