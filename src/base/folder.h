// base/folder.h - a folder of files, on disk or built into the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn::base {

// A folder whose files lie in memory for the lifetime of the program.
struct BuiltInFile {
  std::string_view name, bytes;
};
struct BuiltInFolder {
  std::string_view name;
  std::span<const BuiltInFile> files;
};

// The largest tokenizer known has 35 MB. Weights are mapped, not read.
inline constexpr std::int64_t kMostFolderFile = std::int64_t{256} << 20;

// Converts implicitly from a path, so that functions that take a Folder also take a path.
class Folder {
 public:
  Folder(std::filesystem::path path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  Folder(const std::string& path) : path_(path) {}                // NOLINT(google-explicit-constructor)
  Folder(const char* path) : path_(path) {}                       // NOLINT(google-explicit-constructor)
  explicit Folder(const BuiltInFolder& files) : path_(files.name), files_(files) {}

  [[nodiscard]] bool built_in() const noexcept { return files_.has_value(); }
  [[nodiscard]] bool is_folder() const;
  [[nodiscard]] bool has(const std::string& file) const;

  // The path, or the name of the built-in folder.
  [[nodiscard]] std::string name() const { return path_.string(); }
  // For messages: "folder/config.json", "tiny-bert/config.json (built in)". Without a file: the folder itself.
  [[nodiscard]] std::string shown(const std::string& file = {}) const;

  // The bytes of a built-in file, not copied; nothing for a folder on disk, whose files have a path. Throws attn::Error
  // if the built-in folder has no such file.
  [[nodiscard]] std::optional<std::string_view> bytes(const std::string& file) const;
  [[nodiscard]] std::filesystem::path path(const std::string& file) const { return path_ / file; }

  // The whole file. Throws attn::Error if it cannot be read or is longer than kMostFolderFile.
  [[nodiscard]] std::string read(const std::string& file) const;

 private:
  [[nodiscard]] const BuiltInFile* find(const std::string& file) const;

  std::filesystem::path path_;
  std::optional<BuiltInFolder> files_;
};

}  // namespace attn::base
