// base/new_file.h - writes files that appear completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attn::base {

// The system's text for an errno.
std::string system_words(int error);

// A file that appears under its name only when it is complete: it is written under a temporary name in the same folder,
// then renamed. Unless commit() has returned, no trace is left and the old file is unchanged. A symbolic link stays a
// link: its target is replaced and keeps its permissions. A device or a pipe is written to directly.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& file);  // throws attn::Error, as all members do
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void commit();

  // For files that several processes write: the temporary name until commit() (empty: not a regular file), and space
  // for so many bytes, so that a full disk is noticed now.
  [[nodiscard]] const std::filesystem::path& beside() const noexcept { return beside_; }
  void reserve(std::int64_t bytes);

 private:
  [[noreturn]] void fail(const std::string& what) const;  // throws with the text of errno

  std::filesystem::path file_, beside_;  // beside_ is empty unless file_ names a regular file
  int descriptor_ = -1;
  bool committed_ = false;
};

// Writes a whole file at once. Throws attn::Error.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace attn::base
