// Maps each model_type to its family.
#include <array>
#include <string>

#include "attn/error.h"
#include "model/families/families.h"
#include "model/files/config.h"
#include "model/files/weights.h"
#include "model/run/model.h"

namespace attn::model {

namespace {

struct Family {
  std::string_view type;
  Facts (*facts)(const Config&);
  std::unique_ptr<Model> (*make)(const Config&, Weights&);
};

constexpr std::array<Family, 11> kFamilies = {{
    {"bart", bart_facts, make_bart},
    {"bert", bert_facts, make_bert},
    {"distilbert", bert_facts, make_bert},
    {"gpt2", gpt2_facts, make_gpt2},
    {"llama", llama_facts, make_llama},
    {"mistral", llama_facts, make_llama},
    {"mt5", t5_facts, make_t5},
    {"qwen2", llama_facts, make_llama},
    {"roberta", bert_facts, make_bert},
    {"t5", t5_facts, make_t5},
    {"xlm-roberta", bert_facts, make_bert},
}};

constexpr auto kTypes = [] {
  std::array<std::string_view, kFamilies.size()> types{};
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = kFamilies[i].type;
  return types;
}();

Config read_config(const base::Folder& folder) {
  if (!folder.is_folder()) throw Error(folder.shown(), "no such folder");
  return Config::read(folder, "config.json");
}

const Family& family_of(const Config& config) {
  const std::string type = config.text({"model_type"});
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.type == type) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.type);
  }
  throw Error(config.path(), "unknown model_type '" + type + "'; known: " + known);
}

}  // namespace

std::unique_ptr<Model> load_model(const base::Folder& folder) {
  const Config config = read_config(folder);
  const Family& family = family_of(config);
  Weights weights(folder);
  return family.make(config, weights);
}

Facts read_facts(const base::Folder& folder) {
  const Config config = read_config(folder);
  return family_of(config).facts(config);
}

std::span<const std::string_view> known_types() noexcept { return kTypes; }

}  // namespace attn::model
