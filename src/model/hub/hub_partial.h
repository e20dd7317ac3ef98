// model/hub/hub_partial.h - a file that grows as it is downloaded, over several runs if need be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace attn::model {

// Everything throws attn::Error with the path and the system's words. Closing keeps what is there.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path file);  // goes on with what an earlier run left
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }

  void append(std::string_view bytes);
  void start_over();
  void remove() noexcept;
  // Moves it to its place, after its bytes have reached the disk.
  void finish(const std::filesystem::path& place);

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace attn::model
