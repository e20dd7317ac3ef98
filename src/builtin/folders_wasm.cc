// builtin/folders_wasm.cc - models and lessons as the host's file system has them: /models/NAME, /lessons/NAME.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <vector>

#include "attn/error.h"
#include "base/read_file.h"
#include "builtin/lessons.h"
#include "builtin/models.h"

namespace attn::builtin {

namespace fs = std::filesystem;

namespace {

// Folders whose files are read into memory, for as long as the program runs.
class FoldersInMemory {
 public:
  explicit FoldersInMemory(const fs::path& parent) {
    for (const auto& folder : fs::directory_iterator(parent)) add(folder.path());
    std::ranges::sort(folders_, {}, &base::BuiltInFolder::name);
  }
  [[nodiscard]] std::span<const base::BuiltInFolder> all() const { return folders_; }

 private:
  void add(const fs::path& folder) {
    std::vector<base::BuiltInFile>& files = files_.emplace_back();
    for (const auto& file : fs::directory_iterator(folder))
      files.push_back({kept(file.path().filename().string()), kept(base::read_file(file.path()))});
    folders_.push_back({kept(folder.filename().string()), files});
  }
  std::string_view kept(std::string text) { return texts_.emplace_back(std::move(text)); }

  std::deque<std::string> texts_;
  std::deque<std::vector<base::BuiltInFile>> files_;
  std::vector<base::BuiltInFolder> folders_;
};

}  // namespace

std::span<const base::BuiltInFolder> lessons() {
  static const FoldersInMemory folders("/lessons");
  return folders.all();
}

// A path below the working folder, so that a model is called by its name alone, as it is elsewhere.
base::Folder folder_of(const std::string& name) {
  fs::current_path("/models");
  std::error_code ignored;
  if (name.empty() || name.front() == '/' || !fs::is_directory(name, ignored))
    throw Error(name, "there is no such model");
  return name;
}

}  // namespace attn::builtin
