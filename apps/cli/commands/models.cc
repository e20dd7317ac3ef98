// apps/cli/commands/models.cc - attnscope models: list built-in and cached models, or describe one.
#include "builtin/models.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "model/files/weights.h"
#include "model/hub/hub.h"
#include "model/run/model.h"

namespace attn::cli {

namespace {

struct ModelsCommand {
  std::vector<std::string> folders;
  bool json = false;

  void run() const;
};

// A row of the list; `problem` says why a model cannot be read.
struct Entry {
  std::string name;
  std::optional<base::Folder> folder;  // none: not found
  model::Facts facts;
  std::string problem;
};

Entry look_at(const std::string& name, const std::optional<base::Folder>& folder = std::nullopt) {
  Entry entry{name, folder, {}, {}};
  try {
    if (!folder) entry.folder = ModelOption{name}.folder();
    entry.facts = model::read_facts(*entry.folder);
    const model::Weights weights(*entry.folder);
    entry.facts.parameters = weights.parameters();
    entry.facts.bytes = weights.bytes();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    entry.problem = error.what();
  }
  return entry;
}

// The commands this model is for, besides those that show any model's attention.
std::vector<std::string> uses_of(const model::Facts& facts) {
  std::vector<std::string> uses;
  if (facts.form != model::Form::encoder) uses.emplace_back("generate");
  if (facts.form == model::Form::encoder && facts.has_logits) uses.emplace_back("fill");
  if (!facts.labels.empty()) uses.emplace_back("classify");
  return uses;
}

Json to_json(const Entry& entry) {
  const bool built_in = entry.folder && entry.folder->built_in();
  Json json = {{"name", entry.name},
               {"built_in", built_in},
               {"folder", entry.folder && !built_in ? Json(entry.folder->name()) : Json(nullptr)}};
  if (!entry.problem.empty()) {
    json["problem"] = entry.problem;
    return json;
  }
  const model::Facts& facts = entry.facts;
  json.update({{"type", facts.type},
               {"form", std::string(name_of(facts.form))},
               {"layers", facts.layers},
               {"heads", facts.heads.heads},
               {"key_heads", facts.heads.key_heads},
               {"width", facts.width},
               {"vocabulary", facts.vocabulary},
               {"max_tokens", facts.max_tokens > 0 ? Json(facts.max_tokens) : Json(nullptr)},
               {"trained_tokens", facts.trained_tokens > 0 ? Json(facts.trained_tokens) : Json(nullptr)},
               {"parameters", facts.parameters},
               {"bytes", facts.bytes},
               {"for", uses_of(facts)},
               {"labels", facts.labels}});
  if (facts.form == model::Form::encoder_decoder) {
    json["decoder_layers"] = facts.decoder_layers;
    json["decoder_heads"] = facts.decoder_heads.heads;
  }
  return json;
}

std::string layers_of(const model::Facts& facts) {
  if (facts.form != model::Form::encoder_decoder) return std::to_string(facts.layers);
  return fmt::format("{}+{}", facts.layers, facts.decoder_layers);
}

std::string to_table(const std::vector<Entry>& entries, const Terminal& terminal) {
  int name_width = 4, type_width = 4;
  for (const Entry& entry : entries) {
    name_width = std::max(name_width, columns_of(entry.name));
    type_width = std::max(type_width, columns_of(entry.facts.type));
  }
  std::string out =
      terminal.dim(fmt::format("{}  {}  {:>6} {:>5} {:>5} {:>10} {:>8}  {}", fitted("name", name_width),
                               fitted("type", type_width), "layers", "heads", "width", "vocabulary", "size", "for")) +
      "\n";
  for (const Entry& entry : entries) {
    const std::string name = terminal.bold(fitted(entry.name, name_width));
    if (!entry.problem.empty()) {
      out += fmt::format("{}  {}\n", name, entry.problem);
      continue;
    }
    const model::Facts& facts = entry.facts;
    out += fmt::format("{}  {}  {:>6} {:>5} {:>5} {:>10} {:>8}  {}\n", name, fitted(facts.type, type_width),
                       layers_of(facts), facts.heads.heads, facts.width, grouped(facts.vocabulary),
                       human_bytes(static_cast<double>(facts.bytes)), fmt::join(uses_of(facts), ", "));
  }
  return without_blank_ends(out);
}

void ModelsCommand::run() const {
  const model::HubSettings settings = model::HubSettings::from_environment();
  std::vector<Entry> entries;
  for (const std::string& folder : folders) entries.push_back(look_at(folder));
  if (folders.empty()) {
    for (const base::BuiltInFolder& files : builtin::models())
      entries.push_back(look_at(std::string(files.name), base::Folder(files)));
    for (const model::CachedModel& cached : model::cached_models(settings)) {
      entries.push_back(look_at(cached.name, cached.folder));
    }
  }
  if (json) {
    Json list = Json::array();
    for (const Entry& entry : entries) list.push_back(to_json(entry));
    print(as_line({{"cache", settings.cache.string()}, {"models", list}}));
  } else if (entries.empty()) {
    print("No models in " + settings.cache.string() + "; download one with attnscope pull bert-base-uncased.\n");
  } else {
    print(to_table(entries, Terminal::of_stdout()));
  }
  for (const Entry& entry : entries) {
    if (!folders.empty() && !entry.problem.empty()) throw std::runtime_error("some models could not be read");
  }
}

}  // namespace

void add_models(CLI::App& app, Shell& /*shell*/) {
  auto options = std::make_shared<ModelsCommand>();
  CLI::App* command = app.add_subcommand("models", "List built-in and cached models, or describe one");
  command
      ->add_option("model", options->folders,
                   "Folders or names of models (default: all that are built in or in the hub's cache)")
      ->type_name("DIR|NAME");
  command->footer(
      "The name of a built-in model always means that model, here and in --model; ./NAME means the folder.");
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->callback([options] { options->run(); });
}

}  // namespace attn::cli
