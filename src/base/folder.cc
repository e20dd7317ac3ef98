#include "base/folder.h"

#include <algorithm>

#include "attn/error.h"
#include "base/read_file.h"

namespace attn::base {

namespace fs = std::filesystem;

const BuiltInFile* Folder::find(const std::string& file) const {
  if (!files_) return nullptr;
  const auto at = std::ranges::find(files_->files, file, &BuiltInFile::name);
  return at == files_->files.end() ? nullptr : &*at;
}

bool Folder::is_folder() const {
  std::error_code ignored;
  return built_in() || fs::is_directory(path_, ignored);
}

bool Folder::has(const std::string& file) const {
  std::error_code ignored;
  return built_in() ? find(file) != nullptr : fs::exists(path(file), ignored);
}

std::string Folder::shown(const std::string& file) const {
  return (file.empty() ? path_ : path_ / file).string() + (built_in() ? " (built in)" : "");
}

std::optional<std::string_view> Folder::bytes(const std::string& file) const {
  if (!built_in()) return std::nullopt;
  if (const BuiltInFile* found = find(file)) return found->bytes;
  throw Error(shown(file), "there is no such file");
}

std::string Folder::read(const std::string& file) const {
  const std::optional<std::string_view> here = bytes(file);
  return here ? std::string(*here) : read_file(path(file), kMostFolderFile);
}

}  // namespace attn::base
