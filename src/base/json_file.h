// base/json_file.h - reads JSON files with errors that name the file. Include it in .cc files only.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"

namespace attn::base {

// Throws attn::Error if it cannot be read.
std::string read_file(const std::filesystem::path& file);

// Parses `text`. Throws attn::Error with the byte where it stops being JSON in UTF-8.
nlohmann::json parse_json(const std::string& text, const std::filesystem::path& file);

// A file that holds a JSON object. If the file does not exist, every member counts as missing.
class JsonSettings {
 public:
  JsonSettings(const Folder& folder, const std::string& name);

  // The value, or nothing if the key is missing or null. Throws attn::Error for a value of another type.
  [[nodiscard]] std::optional<bool> boolean(const std::string& key) const;
  [[nodiscard]] std::optional<std::string> string(const std::string& key) const;
  // A token is written "[MASK]" or {"content": "[MASK]", ...}.
  [[nodiscard]] std::optional<std::string> token(const std::string& key) const;
  // Whether the key exists, even if it is null.
  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] const nlohmann::json& values() const { return values_; }
  [[nodiscard]] const std::string& file() const { return file_; }  // the name used in messages

 private:
  [[nodiscard]] const nlohmann::json* find(const std::string& key) const;

  std::string file_;
  nlohmann::json values_ = nlohmann::json::object();
};

}  // namespace attn::base
