#include "base/json_file.h"

#include <algorithm>
#include <cstddef>

#include "attn/error.h"
#include "base/one_line.h"

namespace attn::base {

namespace {

using nlohmann::json;

// The first byte after the string that begins at `at`.
std::size_t after_string(std::string_view text, std::size_t at) noexcept {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at, text.size() - 1) + 1;
}

// The library's message without its error number and position. NaN and Infinity, which Python writes, get a message of
// their own.
std::string syntax_problem(const json::parse_error& error, std::string_view rest) {
  if (rest.starts_with("NaN") || rest.starts_with("Infinity"))
    return "not JSON: NaN and Infinity are not valid JSON; use a number or null";
  std::string_view words = error.what();
  words.remove_prefix(std::min(words.find("] ") + 2, words.size()));
  if (words.starts_with("parse error")) words.remove_prefix(std::min(words.find(": ") + 2, words.size()));
  return "not JSON: " + one_line(words);
}

// The library's message ends with the number in apostrophes.
std::string number_problem(const json::exception& error) {
  const std::string_view words = error.what();
  const std::size_t number = words.find('\'');
  return "contains a number that is out of range" +
         (number == std::string_view::npos ? "" : ": " + one_line(words.substr(number)));
}

}  // namespace

void check_json(std::string_view text, const std::string& origin, const JsonLimits& limits) {
  int depth = 0;
  std::int64_t values = 1;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool opens = c == '[' || c == '{';
    if (opens) ++depth;
    if (c == ']' || c == '}') --depth;
    if (opens || c == ',') ++values;
    const auto here = static_cast<std::int64_t>(at);
    if (c == '\0') throw Error(origin, "not JSON: contains a zero byte", here);  // the parser would stop there
    if (depth > kMostJsonDepth)
      throw Error(origin, "nested more than " + std::to_string(kMostJsonDepth) + " levels deep", here);
    if (values > limits.values) throw Error(origin, "has more than " + std::to_string(limits.values) + " values");
    at = c == '"' ? after_string(text, at) : at + 1;
  }
}

json parse_json(std::string_view text, const std::string& origin, const JsonLimits& limits) {
  check_json(text, origin, limits);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    // The library counts from 1 and includes the byte that it could not parse.
    const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    throw Error(origin, syntax_problem(error, text.substr(std::min(byte, text.size()))),
                static_cast<std::int64_t>(byte));
  } catch (const json::exception& error) {
    throw Error(origin, number_problem(error));
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
