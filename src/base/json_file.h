// base/json_file.h - JSON files, read with errors that name the file. For .cc files only.
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

// Throws attn::Error with the byte where `text` stops being JSON in UTF-8.
nlohmann::json parse_json(const std::string& text, const std::filesystem::path& file);

// A file whose top is an object, or no file at all: then every question is answered by "not there".
class JsonSettings {
 public:
  JsonSettings(const Folder& folder, const std::string& name);

  // Is the key there, and not null? A value of another kind is an attn::Error.
  [[nodiscard]] std::optional<bool> boolean(const std::string& key) const;
  [[nodiscard]] std::optional<std::string> string(const std::string& key) const;
  // A token is written "[MASK]" or {"content": "[MASK]", ...}.
  [[nodiscard]] std::optional<std::string> token(const std::string& key) const;
  // Said, even if it is null.
  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] const nlohmann::json& values() const { return values_; }
  [[nodiscard]] const std::string& file() const { return file_; }  // as messages name it

 private:
  [[nodiscard]] const nlohmann::json* find(const std::string& key) const;

  std::string file_;
  nlohmann::json values_ = nlohmann::json::object();
};

}  // namespace attn::base
