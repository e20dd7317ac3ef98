// model/files/mapped_files.h - the files that are mapped into memory, and what happens if one of them is cut short.
// Where nothing can be mapped (mapped_files_wasm.cc), parts of a file are read when they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

  // The part [offset, offset + bytes) of the file, where `offset` is that of a tensor: two parts either are the same or
  // do not overlap. Valid while this object lives, unless all of it is released. Throws attn::Error if it has to be
  // read and cannot.
  enum class Use : std::uint8_t {
    stays,   // release() does not end it
    passing  // each byte is released once
  };
  [[nodiscard]] const std::byte* part(std::int64_t offset, std::int64_t bytes, Use use) const;
  // Returns the memory of [first, first + span), of which `used` bytes are no longer needed. A mapped file keeps its
  // address, and reading it again still works. A part that was read is freed once all bytes that were handed out in
  // passing are released, unless a use of it stays.
  void release(const std::byte* first, std::int64_t span, std::int64_t used) const noexcept;
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] static bool reads_when_needed() noexcept;  // false: mapped, and every part is at hand at once

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::int64_t bytes_ = 0;
};

// For programs: from now on, SIGBUS in a mapped file prints "attnscope: FILE: ..." and ends the process with exit code
// 1; elsewhere it does what it did by default. Libraries must leave the signals of their users alone.
void explain_truncated_files() noexcept;

}  // namespace attn::model
