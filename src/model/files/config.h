// model/files/config.h - config.json, asked by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"

namespace attn::model {

// A JSON object. Every question may give several names for the same thing (families call them differently): the first
// that is there and not null answers. The answers throw attn::Error, with the path and the names, if nothing is there
// and no default was given, or if it is of another kind.
class Config {
 public:
  using Names = std::initializer_list<const char*>;

  static Config read(const std::filesystem::path& file);  // throws attn::Error
  static Config read(const base::Folder& folder, const std::string& file);
  static Config parse(const std::string& json, const std::string& path);

  [[nodiscard]] bool has(Names names) const;
  [[nodiscard]] std::int64_t integer(Names names) const;
  [[nodiscard]] std::int64_t integer(Names names, std::int64_t otherwise) const;
  [[nodiscard]] double number(Names names) const;
  [[nodiscard]] double number(Names names, double otherwise) const;
  [[nodiscard]] bool flag(Names names, bool otherwise) const;
  [[nodiscard]] std::string text(Names names) const;
  [[nodiscard]] std::string text(Names names, const std::string& otherwise) const;
  // One integer counts as a list of one; absent or null is an empty list.
  [[nodiscard]] std::vector<std::int64_t> integers(Names names) const;
  [[nodiscard]] std::vector<double> numbers(Names names) const;
  [[nodiscard]] std::vector<std::string> texts(Names names) const;
  [[nodiscard]] std::optional<Config> child(Names names) const;
  [[nodiscard]] std::vector<Config> children(Names names) const;  // of a list; absent or null is an empty one
  [[nodiscard]] std::vector<std::string> names() const;           // of everything in it, sorted

  // Another file in the folder that it was read from; none where that has no such file, or where it was parsed.
  [[nodiscard]] std::optional<Config> beside(const std::string& file) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // How messages name something in it, with the whole way: "rope_scaling.factor".
  [[nodiscard]] std::string place(const std::string& name) const;

 private:
  struct Value;
  Config(std::shared_ptr<const Value> value, std::string path);
  std::shared_ptr<const Value> value_;
  std::string path_;
  std::optional<base::Folder> folder_;
};

}  // namespace attn::model
