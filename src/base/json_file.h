// base/json_file.h - the one way to parse JSON that comes from outside the program: files, bodies of requests, lists
// from the hub. Include it in .cc files only.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/folder.h"

namespace attn::base {

inline constexpr int kMostJsonDepth = 64;

struct JsonLimits {
  std::int64_t values = std::numeric_limits<std::int64_t>::max();  // numbers, strings, lists, objects
};

// Checks, in one pass that allocates nothing, what could exhaust the stack or the memory of a parser: nesting of more
// than kMostJsonDepth levels, too many values, zero bytes. Does not check the grammar. Throws attn::Error with `origin`
// as its path.
void check_json(std::string_view text, const std::string& origin, const JsonLimits& limits = {});

// Checks and parses `text`. Throws attn::Error with `origin` ("config.json", "the body") as its path and the byte where
// the text stops being JSON in UTF-8; no exception of the JSON library gets out. The result copies and prints within a
// few kilobytes of stack, and takes time linear in the text: objects are maps. An ordered object would search, and
// copy, its members once per new member, so ordered_json is only for what the program writes.
nlohmann::json parse_json(std::string_view text, const std::string& origin, const JsonLimits& limits = {});

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
