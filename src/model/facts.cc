#include "model/facts.h"

#include <filesystem>
#include <limits>
#include <string>

#include "attn/attention.h"
#include "attn/error.h"

namespace attn::model {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::int64_t check_size(const Config& config, Config::Names names, std::int64_t value) {
  if (value >= 1 && value <= kMost) return value;
  throw Error(config.path(), std::string(*names.begin()) + " is " + std::to_string(value) +
                                 "; it must lie between 1 and " + std::to_string(kMost));
}

std::int32_t check_id(const Config& config, const char* name, std::int64_t id) {
  if (id >= -1 && id <= kMost) return static_cast<std::int32_t>(id);
  throw Error(config.path(), std::string(name) + " is " + std::to_string(id) + ", which no token can have");
}

// Which tokens end a text: generation_config.json beside config.json has the last word. A model that was taught to chat
// ends its answers with a token of which config.json knows nothing.
Config says_the_end(const Config& config) {
  const auto beside = std::filesystem::path(config.path()).parent_path() / "generation_config.json";
  if (!std::filesystem::exists(beside)) return config;
  Config generation = Config::read(beside);
  return generation.has({"eos_token_id"}) ? generation : config;
}

}  // namespace

std::int64_t read_size(const Config& config, Config::Names names) {
  return check_size(config, names, config.integer(names));
}

std::int64_t read_size(const Config& config, Config::Names names, std::int64_t otherwise) {
  return check_size(config, names, config.integer(names, otherwise));
}

HeadShape share_evenly(const Config& config, std::int64_t width, std::int64_t heads) {
  if (width % heads != 0) {
    throw Error(config.path(),
                std::to_string(heads) + " heads cannot share a width of " + std::to_string(width) + " evenly");
  }
  if (width / heads > kMaxWidth) {
    throw Error(config.path(), std::to_string(heads) + " heads of a width of " + std::to_string(width) + " are " +
                                   std::to_string(width / heads) + " wide each; at most " + std::to_string(kMaxWidth) +
                                   " are possible");
  }
  return {.heads = heads, .key_heads = heads, .width = width / heads};
}

void read_token_ids(const Config& config, Facts& facts) {
  facts.bos = check_id(config, "bos_token_id", config.integer({"bos_token_id"}, -1));
  facts.pad = check_id(config, "pad_token_id", config.integer({"pad_token_id"}, -1));
  facts.eos.clear();
  const Config last = says_the_end(config);
  for (const std::int64_t id : last.integers({"eos_token_id"})) {
    if (check_id(last, "eos_token_id", id) >= 0) facts.eos.push_back(static_cast<std::int32_t>(id));
  }
}

}  // namespace attn::model
