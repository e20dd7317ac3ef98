#include "model/files/config.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "attn/error.h"
#include "base/json_file.h"
#include "base/one_line.h"
#include "base/read_file.h"

namespace attn::model {

using nlohmann::json;

struct Config::Value {
  std::shared_ptr<const json> root;  // keeps `object` alive
  const json* object = nullptr;
  std::string before;  // "rope_scaling." for a child, so that messages give the full path of a key
};

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{32} << 20;  // the largest known shard index has 9 MB

std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return base::one_line(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::optional<std::int64_t> whole(const json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double x = value.get<double>();
  if (std::trunc(x) != x || x < -0x1p63 || x >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

std::optional<double> real(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<std::string> string(const json& value) {
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

constexpr const char* kWhole = "a 64-bit integer";
constexpr const char* kReal = "a number";
constexpr const char* kText = "a string";

// A value and its name for messages.
struct FoundValue {
  const json* value = nullptr;  // null: missing
  std::string name;
};

FoundValue find(const json& object, const std::string& before, Config::Names names) {
  for (const char* name : names) {
    const auto at = object.find(name);
    if (at != object.end() && !at->is_null()) return {&*at, before + name};
  }
  return {nullptr, ""};
}

// Converts the value with `read`. Throws attn::Error, with the value found and the type needed, if that fails.
template <typename Read>
auto convert(const FoundValue& found, const std::string& path, const char* needed, const Read& read) {
  auto answer = read(*found.value);
  if (!answer) throw Error(path, found.name + " is " + shown(*found.value) + "; " + needed + " is needed");
  return *std::move(answer);
}

template <typename Read>
auto convert_list(const FoundValue& found, const std::string& path, const char* needed, const Read& read) {
  std::vector<typename decltype(read(json()))::value_type> list;
  if (found.value == nullptr) return list;
  if (!found.value->is_array()) {
    list.push_back(convert(found, path, needed, read));
    return list;
  }
  for (std::size_t i = 0; i < found.value->size(); ++i)
    list.push_back(convert({&(*found.value)[i], found.name + "[" + std::to_string(i) + "]"}, path, needed, read));
  return list;
}

[[noreturn]] void missing(const std::string& path, const std::string& before, Config::Names names) {
  std::string others;
  for (const char* name : std::span(names.begin(), names.size()).subspan(1))
    others += (others.empty() ? "" : ", ") + before + name;
  throw Error(path, before + *names.begin() + (others.empty() ? "" : " (or " + others + ")") + " is missing");
}

}  // namespace

Config::Config(std::shared_ptr<const Value> value, std::string path)
    : value_(std::move(value)), path_(std::move(path)) {}

Config Config::read(const std::filesystem::path& file) { return read(file.parent_path(), file.filename().string()); }

Config Config::read(const base::Folder& folder, const std::string& file) {
  const std::optional<std::string_view> bytes = folder.bytes(file);
  Config config =
      parse(bytes ? std::string(*bytes) : base::read_file(folder.path(file), kMostBytes), folder.shown(file));
  config.folder_ = folder;
  return config;
}

std::optional<Config> Config::beside(const std::string& file) const {
  if (!folder_ || !folder_->has(file)) return std::nullopt;
  return read(*folder_, file);
}

Config Config::parse(const std::string& text, const std::string& path) {
  auto root = std::make_shared<const json>(base::parse_json(text, path));
  if (!root->is_object()) throw Error(path, "is " + shown(*root) + "; a JSON object is needed");
  const json* object = root.get();
  return {std::make_shared<const Value>(Value{std::move(root), object, ""}), path};
}

bool Config::has(Names names) const { return find(*value_->object, value_->before, names).value != nullptr; }

std::int64_t Config::integer(Names names) const {
  const FoundValue found = find(*value_->object, value_->before, names);
  if (found.value == nullptr) missing(path_, value_->before, names);
  return convert(found, path_, kWhole, whole);
}

std::int64_t Config::integer(Names names, std::int64_t otherwise) const {
  return has(names) ? integer(names) : otherwise;
}

double Config::number(Names names) const {
  const FoundValue found = find(*value_->object, value_->before, names);
  if (found.value == nullptr) missing(path_, value_->before, names);
  return convert(found, path_, kReal, real);
}

double Config::number(Names names, double otherwise) const { return has(names) ? number(names) : otherwise; }

bool Config::flag(Names names, bool otherwise) const {
  const FoundValue found = find(*value_->object, value_->before, names);
  if (found.value == nullptr) return otherwise;
  return convert(found, path_, "true or false", [](const json& value) {
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
  });
}

std::string Config::text(Names names) const {
  const FoundValue found = find(*value_->object, value_->before, names);
  if (found.value == nullptr) missing(path_, value_->before, names);
  return convert(found, path_, kText, string);
}

std::string Config::text(Names names, const std::string& otherwise) const {
  return has(names) ? text(names) : otherwise;
}

std::vector<std::int64_t> Config::integers(Names names) const {
  return convert_list(find(*value_->object, value_->before, names), path_, kWhole, whole);
}

std::vector<double> Config::numbers(Names names) const {
  return convert_list(find(*value_->object, value_->before, names), path_, kReal, real);
}

std::vector<std::string> Config::texts(Names names) const {
  return convert_list(find(*value_->object, value_->before, names), path_, kText, string);
}

std::optional<Config> Config::child(Names names) const {
  const FoundValue found = find(*value_->object, value_->before, names);
  if (found.value == nullptr) return std::nullopt;
  if (!found.value->is_object())
    throw Error(path_, found.name + " is " + shown(*found.value) + "; an object is needed");
  return Config(std::make_shared<const Value>(Value{value_->root, found.value, found.name + "."}), path_);
}

std::vector<Config> Config::children(Names names) const {
  const FoundValue found = find(*value_->object, value_->before, names);
  std::vector<Config> all;
  if (found.value == nullptr) return all;
  if (!found.value->is_array()) throw Error(path_, found.name + " is " + shown(*found.value) + "; a list is needed");
  for (std::size_t i = 0; i < found.value->size(); ++i) {
    const json& one = (*found.value)[i];
    const std::string name = found.name + "[" + std::to_string(i) + "]";
    if (!one.is_object()) throw Error(path_, name + " is " + shown(one) + "; an object is needed");
    all.push_back(Config(std::make_shared<const Value>(Value{value_->root, &one, name + "."}), path_));
  }
  return all;
}

std::string Config::place(const std::string& name) const { return value_->before + name; }

std::vector<std::string> Config::names() const {
  std::vector<std::string> all;
  for (const auto& [name, value] : value_->object->items()) all.push_back(name);
  return all;
}

}  // namespace attn::model
