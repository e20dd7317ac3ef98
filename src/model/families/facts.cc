#include "model/families/facts.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "attn/error.h"

namespace attn::model {

namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

std::int64_t check_size(const Config& config, Config::Names names, std::int64_t value) {
  if (value >= 1 && value <= kInt32Max) return value;
  throw Error(config.path(), std::string(*names.begin()) + " is " + std::to_string(value) +
                                 "; it must lie between 1 and " + std::to_string(kInt32Max));
}

std::int32_t check_id(const Config& config, const char* name, std::int64_t id) {
  if (id >= -1 && id <= kInt32Max) return static_cast<std::int32_t>(id);
  throw Error(config.path(), std::string(name) + " is " + std::to_string(id) + ", which is not a valid token id");
}

// generation_config.json, if the folder has it, takes precedence for generation: a chat model ends its replies with a
// token that config.json does not mention.
Config generation_config(const Config& config) { return config.beside("generation_config.json").value_or(config); }

GenerationRules read_rules(const Config& config) {
  GenerationRules rules;
  rules.forced_bos = check_id(config, "forced_bos_token_id", config.integer({"forced_bos_token_id"}, -1));
  const std::vector<std::int64_t> ends = config.integers({"forced_eos_token_id"});
  if (!ends.empty()) rules.forced_eos = check_id(config, "forced_eos_token_id", ends.front());
  rules.min_new_tokens = std::max<std::int64_t>(config.integer({"min_new_tokens"}, 0), 0);
  rules.min_length = std::max<std::int64_t>(config.integer({"min_length"}, 0), 0);
  rules.no_repeat = std::max<std::int64_t>(config.integer({"no_repeat_ngram_size"}, 0), 0);
  for (const char* name : {"repetition_penalty", "encoder_repetition_penalty", "num_beams", "num_beam_groups"}) {
    if (config.number({name}, 1) != 1) rules.ignored.emplace_back(name);
  }
  if (config.number({"encoder_no_repeat_ngram_size"}, 0) != 0)
    rules.ignored.emplace_back("encoder_no_repeat_ngram_size");
  for (const char* name : {"bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "forced_decoder_ids",
                           "exponential_decay_length_penalty", "sequence_bias"}) {
    if (config.has({name})) rules.ignored.emplace_back(name);
  }
  return rules;
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
    throw Error(config.path(), "a width of " + std::to_string(width) + " over " + std::to_string(heads) +
                                   " heads makes each head " + std::to_string(width / heads) + " wide; at most " +
                                   std::to_string(kMaxWidth) + " is supported");
  }
  return {.heads = heads, .key_heads = heads, .width = width / heads};
}

void read_token_ids(const Config& config, Facts& facts) {
  facts.bos = check_id(config, "bos_token_id", config.integer({"bos_token_id"}, -1));
  facts.pad = check_id(config, "pad_token_id", config.integer({"pad_token_id"}, -1));
  facts.eos.clear();
  const Config generation = generation_config(config);
  const Config& says_the_end = generation.has({"eos_token_id"}) ? generation : config;
  for (const std::int64_t id : says_the_end.integers({"eos_token_id"})) {
    if (check_id(says_the_end, "eos_token_id", id) >= 0) facts.eos.push_back(static_cast<std::int32_t>(id));
  }
  facts.rules = read_rules(generation);
  const Config& says_the_start = generation.has({"decoder_start_token_id"}) ? generation : config;
  facts.decoder_start =
      check_id(says_the_start, "decoder_start_token_id", says_the_start.integer({"decoder_start_token_id"}, -1));
}

bool names_class(const Config& config, std::initializer_list<std::string_view> ends) {
  const std::vector<std::string> classes = config.texts({"architectures"});
  return std::ranges::any_of(classes, [&](const std::string& name) {
    return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
  });
}

std::vector<std::string> read_labels(const Config& config) {
  std::vector<std::string> labels;
  if (const std::optional<Config> given = config.child({"id2label"})) {
    const std::size_t count = given->names().size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string id = std::to_string(i);
      if (!given->has({id.c_str()}))
        throw Error(config.path(), "id2label has " + std::to_string(count) + " labels, but none with id " + id +
                                       "; they must be numbered from 0");
      labels.push_back(given->text({id.c_str()}));
    }
  }
  if (!labels.empty()) return labels;
  const std::int64_t count = read_size(config, {"num_labels", "_num_labels"}, 2);
  constexpr std::int64_t kMostLabels = 1'000'000;  // bounds the memory that a damaged file can make us fill
  if (count > kMostLabels)
    throw Error(config.path(), "num_labels is " + std::to_string(count) + "; at most " + std::to_string(kMostLabels) +
                                   " are supported");
  for (std::int64_t i = 0; i < count; ++i) labels.push_back("LABEL_" + std::to_string(i));
  return labels;
}

}  // namespace attn::model
