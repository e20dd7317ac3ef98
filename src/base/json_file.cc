#include "base/json_file.h"

#include <cstdint>
#include <fstream>
#include <utility>

#include "attn/error.h"

namespace attn::base {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in || std::filesystem::is_directory(file)) throw Error(file.string(), "cannot be read");
  std::string text(static_cast<std::size_t>(in.tellg()), '\0');
  in.seekg(0);
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) throw Error(file.string(), "cannot be read");
  return text;
}

nlohmann::json parse_json(const std::string& text, const std::filesystem::path& file) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    // nlohmann counts from 1 and includes the byte that it could not parse.
    const auto byte = error.byte == 0 ? 0 : static_cast<std::int64_t>(error.byte) - 1;
    throw Error(file.string(), "not JSON in UTF-8 from here on", byte);
  }
}

JsonSettings::JsonSettings(const Folder& folder, const std::string& name) : file_(folder.shown(name)) {
  if (!folder.has(name)) return;
  values_ = parse_json(folder.read(name), file_);
  if (!values_.is_object()) throw Error(file_, "should hold an object, {...}");
}

const nlohmann::json* JsonSettings::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> JsonSettings::boolean(const std::string& key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) throw Error(file_, "\"" + key + "\" should be true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonSettings::string(const std::string& key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw Error(file_, "\"" + key + "\" should be a string");
  return value->get<std::string>();
}

std::optional<std::string> JsonSettings::token(const std::string& key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object() && value->contains("content")) value = &value->at("content");
  if (!value->is_string()) {
    throw Error(file_, "\"" + key + R"(" should be a string or {"content": "..."})");
  }
  return value->get<std::string>();
}

}  // namespace attn::base
