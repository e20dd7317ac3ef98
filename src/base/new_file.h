// base/new_file.h - files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attn::base {

// What the system says about an errno.
std::string system_words(int error);

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

  // For whoever has others write parts of it: under which name it lies until commit() (empty: it is no regular file),
  // and room for so many bytes, so that a full disk is noticed now.
  [[nodiscard]] const std::filesystem::path& beside() const noexcept { return beside_; }
  void reserve(std::int64_t bytes);

 private:
  [[noreturn]] void fail(const std::string& what) const;  // with the words for errno

  std::filesystem::path file_, beside_;  // beside_ is empty where the name is no regular file's
  int descriptor_ = -1;
  bool committed_ = false;
};

// All of a file at once. Throws attn::Error.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace attn::base
