// server/http/page_files.h - the page's files as HTTP responses.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/folder.h"
#include "server/http/response.h"

namespace attn::server {

// Files are in memory, or named by the program: no name from a request ever reaches the file system.
class PageFiles {
 public:
  explicit PageFiles(std::span<const base::BuiltInFile> files);
  // Reads all files of a folder now. Throws attn::Error.
  static PageFiles read(const std::filesystem::path& folder);

  // The microscope that needs no server (make web-app), which the page offers to save: served as /attnscope.html, read
  // when somebody asks for it.
  void offer_app(std::filesystem::path file) { app_ = std::move(file); }
  [[nodiscard]] bool offers_app() const noexcept { return !app_.empty(); }

  // "/" and "/learn" (the course) are index.html. Status 404 if there is no such file.
  [[nodiscard]] Response response(std::string_view path) const;
  // The page as one file; empty if there is none.
  [[nodiscard]] const std::string& offline() const noexcept { return offline_; }

 private:
  PageFiles() = default;
  void add(const std::string& name, std::string bytes);

  std::map<std::string, Response, std::less<>> files_;  // by path
  std::string offline_;
  std::filesystem::path app_;  // empty: none
};

// Whether a file never changes because its name contains a hash of its content.
bool is_hashed(std::string_view path);

}  // namespace attn::server
