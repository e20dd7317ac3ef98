// attn/error.h - the exception for files that cannot be read, written or understood.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace attn {

// The only exception for files and their contents. what() is one line: the path, the byte offset if it is known, what
// is wrong and what would be right.
class Error : public std::runtime_error {
 public:
  static constexpr std::int64_t kNowhere = -1;

  // "path: problem", or "path, byte 17: problem".
  Error(std::string path, const std::string& problem, std::int64_t offset = kNowhere);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }

 private:
  std::string path_;
  std::int64_t offset_;
};

}  // namespace attn
