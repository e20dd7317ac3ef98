// server/http/page_files.h - the files that the page is made of, as they go over the wire.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/folder.h"
#include "server/http/response.h"

namespace attn::server {

// All of it lies in memory: no name from a request ever reaches the file system.
class PageFiles {
 public:
  explicit PageFiles(std::span<const base::BuiltInFile> files);
  // Those of a folder on disk, read now. Throws attn::Error.
  static PageFiles read(const std::filesystem::path& folder);

  // "/" is index.html, and so is "/learn": the course. Status 404 where there is nothing of this name.
  [[nodiscard]] Response response(std::string_view path) const;
  // Of the page as one file; empty: there is none.
  [[nodiscard]] const std::string& offline() const noexcept { return offline_; }

 private:
  PageFiles() = default;
  void add(const std::string& name, std::string bytes);

  std::map<std::string, Response, std::less<>> files_;  // by path
  std::string offline_;
};

// Whether a file of this path never changes: its name says what is in it.
bool is_hashed(std::string_view path);

}  // namespace attn::server
