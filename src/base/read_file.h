// base/read_file.h - opens and reads files of unknown origin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace attn::base {

// The system's text for an errno.
std::string system_words(int error);

// An open file. Accepts regular files only, since reading a pipe or a device could block for ever.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& file);  // throws attn::Error
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Reads from `offset` on into `bytes`, as many as it has or as there are; returns how many. Throws attn::Error.
  std::int64_t read(std::int64_t offset, std::span<char> bytes) const;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

// Reads the whole file. Throws attn::Error, also if it is longer than `most` bytes.
std::string read_file(const std::filesystem::path& file, std::int64_t most = std::int64_t{1} << 40);

}  // namespace attn::base
