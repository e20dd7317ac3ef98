// model/files/mapped_files.h - the files that are mapped into memory, and what happens if one of them is cut short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/read_file.h"

namespace attn::model {

// A file, mapped to be read; pages are read when touched. If another process truncates the file while it is mapped,
// touching the lost part ends the process (SIGBUS). No check can prevent that, since the file may shrink after any
// check, and a copy would double memory. Tools that replace models, this one included, move complete new files into
// place, which is safe. No madvise hint (MADV_WILLNEED, MADV_SEQUENTIAL): reading 440 MB from the page cache takes 160
// to 180 ms with any of them.
class MappedFile {
 public:
  MappedFile(const base::OpenFile& file, std::string path);  // throws attn::Error
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  const std::string path_;
  const std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::size_t place_;  // in the list that a signal handler can read
};

// For programs: from now on, SIGBUS in a mapped file prints "attnscope: FILE: ..." and ends the process with exit code
// 1; elsewhere it does what it did by default. Libraries must leave the signals of their users alone.
void explain_truncated_files() noexcept;

}  // namespace attn::model
