// model/file_io.h - files that are read or made as a whole, and the words in which their problems are told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attn::model {

// What the system says about an errno.
std::string system_words(int error);

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

// A file that appears under its name only when it is whole: written under another name in the same folder, then moved.
// Unless commit() has returned, nothing is left behind and what was there before is still there. A link stays a link:
// what it points to is replaced, and keeps its permissions. A device or a pipe is written to as it is.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& file);  // throws attn::Error, as the others do
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what) const;  // with the words for errno

  std::filesystem::path file_, beside_;  // beside_ is empty where the name is no regular file's
  int descriptor_ = -1;
  bool committed_ = false;
};

}  // namespace attn::model
