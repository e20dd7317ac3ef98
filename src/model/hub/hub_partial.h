// model/hub/hub_partial.h - a file that grows as it is downloaded, possibly over several runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace attn::model {

// All functions throw attn::Error with the path and the system's message. Closing keeps the bytes on disk.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path file);  // continues an earlier run's file
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }

  void append(std::string_view bytes);
  void start_over();
  void remove() noexcept;
  // Flushes the file to disk and moves it to `place`.
  void finish(const std::filesystem::path& place);

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace attn::model
