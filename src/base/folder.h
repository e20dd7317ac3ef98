// base/folder.h - a model's files, wherever they lie: in a folder on disk, or in the program itself.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn::base {

// A folder whose files lie in memory, for as long as anybody may ask.
struct BuiltInFile {
  std::string_view name, bytes;
};
struct BuiltInFolder {
  std::string_view name;
  std::span<const BuiltInFile> files;
};

// Implicit from a path, so that whatever takes a Folder takes the path of one.
class Folder {
 public:
  Folder(std::filesystem::path path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  Folder(const std::string& path) : path_(path) {}                // NOLINT(google-explicit-constructor)
  Folder(const char* path) : path_(path) {}                       // NOLINT(google-explicit-constructor)
  explicit Folder(const BuiltInFolder& files) : path_(files.name), files_(files) {}

  [[nodiscard]] bool built_in() const noexcept { return files_.has_value(); }
  [[nodiscard]] bool is_folder() const;
  [[nodiscard]] bool has(const std::string& file) const;

  // The path, or the name of what is built in.
  [[nodiscard]] std::string name() const { return path_.string(); }
  // For messages: "folder/config.json", "tiny-bert/config.json (built in)". Of no file: the folder itself.
  [[nodiscard]] std::string shown(const std::string& file = {}) const;

  // A file's bytes where they lie; none for a folder on disk, whose files have a path. Throws attn::Error for a file
  // that is not built in.
  [[nodiscard]] std::optional<std::string_view> bytes(const std::string& file) const;
  [[nodiscard]] std::filesystem::path path(const std::string& file) const { return path_ / file; }

  // The whole file. Throws attn::Error if it cannot be read.
  [[nodiscard]] std::string read(const std::string& file) const;

 private:
  [[nodiscard]] const BuiltInFile* find(const std::string& file) const;

  std::filesystem::path path_;
  std::optional<BuiltInFolder> files_;
};

}  // namespace attn::base
