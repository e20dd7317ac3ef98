// model/hub/hub_settings.cc - reads the environment as huggingface_hub does; an empty variable counts as unset.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>

#include "model/hub/hub.h"
#include "model/hub/hub_cache.h"

namespace attn::model {

namespace {

std::optional<std::string> variable(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return std::nullopt;
}

bool is_true(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text == "1" || text == "ON" || text == "YES" || text == "TRUE";
}

std::string home() {
  if (const auto set = variable({"HOME"})) return *set;
  std::array<char, 4096> buffer{};
  struct passwd entry{};
  struct passwd* found = nullptr;
  const bool known = ::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? entry.pw_dir : ".";
}

// Expands $NAME and ${NAME}; unset names stay as they are.
std::string with_variables(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool braces = text.compare(i, 2, "${") == 0;
    const std::size_t start = i + (braces ? 2 : 1);
    std::size_t end = start;
    while (text[i] == '$' && end < text.size() && is_word(text[end])) ++end;
    const bool closed = !braces || (end < text.size() && text[end] == '}');
    const char* value = end > start && closed ? std::getenv(text.substr(start, end - start).c_str()) : nullptr;
    if (value == nullptr) {
      out += text[i++];
    } else {
      out += value;
      i = end + (braces ? 1 : 0);
    }
  }
  return out;
}

std::filesystem::path expanded(std::string text) {
  if (text == "~" || text.starts_with("~/")) text.replace(0, 1, home());
  return with_variables(text);
}

std::string clean(std::string token) {
  std::erase_if(token, [](char c) { return c == '\r' || c == '\n'; });
  constexpr std::string_view kSpace = " \t\v\f";
  const auto first = token.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return token.substr(first, token.find_last_not_of(kSpace) - first + 1);
}

std::string find_token(const std::filesystem::path& hf_home) {
  if (is_true(variable({"HF_HUB_DISABLE_IMPLICIT_TOKEN"}).value_or(""))) return {};
  std::string given = clean(variable({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}).value_or(""));
  if (!given.empty()) return given;
  const auto named = variable({"HF_TOKEN_PATH"});
  std::ifstream file(named ? expanded(*named) : hf_home / "token");
  return clean({std::istreambuf_iterator<char>(file), {}});
}

}  // namespace

HubSettings HubSettings::from_environment() {
  HubSettings settings;
  settings.endpoint = variable({"HF_ENDPOINT"}).value_or(settings.endpoint);
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  const std::string caches = variable({"XDG_CACHE_HOME"}).value_or("~/.cache");
  const std::filesystem::path hf_home = expanded(variable({"HF_HOME"}).value_or(caches + "/huggingface"));
  const auto cache = variable({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  settings.cache = cache ? expanded(*cache) : hf_home / "hub";
  settings.token = find_token(hf_home);
  settings.offline = is_true(variable({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}).value_or(""));
  if (const auto seconds = variable({"HF_HUB_DOWNLOAD_TIMEOUT"}))
    if (const long whole = std::strtol(seconds->c_str(), nullptr, 10); whole > 0)
      settings.patience.timeout = std::chrono::seconds(std::min(whole, 86'400L));
  return settings;
}

}  // namespace attn::model
