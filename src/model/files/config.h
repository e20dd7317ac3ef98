// model/files/config.h - typed access to config.json.
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

// A JSON object. Every getter takes several names for the same setting, since families call it differently, and uses
// the first that is present and not null. Getters throw attn::Error, with the path and the names, if the setting is
// missing and has no default, or has the wrong type.
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
  // A single integer counts as a list of one; a missing or null value is an empty list.
  [[nodiscard]] std::vector<std::int64_t> integers(Names names) const;
  [[nodiscard]] std::vector<double> numbers(Names names) const;
  [[nodiscard]] std::vector<std::string> texts(Names names) const;
  [[nodiscard]] std::optional<Config> child(Names names) const;
  [[nodiscard]] std::vector<Config> children(Names names) const;  // elements of a list; missing or null: empty
  [[nodiscard]] std::vector<std::string> names() const;           // all keys, sorted

  // Another file in the same folder; none if there is no such file, or if this object was parsed from memory.
  [[nodiscard]] std::optional<Config> beside(const std::string& file) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // The full path of a key for messages: "rope_scaling.factor".
  [[nodiscard]] std::string place(const std::string& name) const;

 private:
  struct Value;
  Config(std::shared_ptr<const Value> value, std::string path);
  std::shared_ptr<const Value> value_;
  std::string path_;
  std::optional<base::Folder> folder_;
};

}  // namespace attn::model
