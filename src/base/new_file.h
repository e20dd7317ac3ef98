// base/new_file.h - writes files that appear completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace attn::base {

// A file that appears under its name only when it is complete. Until commit() it has no name at all where the file
// system allows that (O_TMPFILE), else a temporary one (.attnscope-PROCESS-NUMBER.part); then it is renamed. Unless
// commit() has returned, no trace is left and the old file is unchanged; what a killed process leaves, the next NewFile
// in that folder removes. A symbolic link stays a link: its target is replaced and keeps its permissions. A device or a
// pipe is written to directly.
class NewFile {
 public:
  // Temporary names lie in `staging` (on the same file system), by default in the file's own folder. Throws
  // attn::Error, as all members do.
  explicit NewFile(const std::filesystem::path& file, const std::filesystem::path& staging = {});
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void commit();

  // For files that several processes write: gives the file its temporary name now (empty: not a regular file), and
  // reserves space for so many bytes, so that a full disk is noticed now.
  const std::filesystem::path& beside();
  void reserve(std::int64_t bytes);

 private:
  void open_beside();                                     // under a temporary name
  [[noreturn]] void fail(const std::string& what) const;  // throws with the text of errno

  std::filesystem::path file_, folder_;  // folder_: of temporary names; empty unless file_ names a regular file
  std::filesystem::path beside_;         // the temporary name; empty: none yet
  int descriptor_ = -1;                  // locked (flock) if it is a regular file: whoever gets the lock may remove it
  bool committed_ = false;
};

// Writes a whole file at once. Throws attn::Error.
void write_file(const std::filesystem::path& file, std::string_view bytes, const std::filesystem::path& staging = {});

// Removes what killed processes have left in a folder under temporary names. Files that a process is still writing
// stay, on whatever machine it runs: they are locked.
void remove_unfinished(const std::filesystem::path& folder) noexcept;

}  // namespace attn::base
