// apps/cli/commands/fill.cc - attnscope fill: predict the words behind [MASK] in a text.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "model/run/prepare.h"

namespace attn::cli {

namespace {

struct FillCommand {
  ModelOption model;
  TextOption text;
  std::int64_t top = 5;
  bool json = false;

  void run(ThreadPool& pool) const;
};

Json to_json(const model::Filled& filled, const model::Reader& reader) {
  Json json = {{"tokens", texts_of(filled.tokens)}, {"masks", Json::array()}};
  for (const model::Filled::Gap& gap : filled.gaps) {
    Json words = Json::array();
    for (const model::Choice& choice : gap.choices) {
      words.push_back({{"word", word_of(reader.tokenizer, choice.id)},
                       {"id", choice.id},
                       {"probability", static_cast<float>(choice.probability)}});
    }
    json["masks"].push_back({{"token", gap.token}, {"words", words}});
  }
  return json;
}

std::string to_table(const std::vector<model::Filled::Gap>& gaps, const text::Tokenizer& tokenizer,
                     const Terminal& terminal) {
  std::string out;
  for (const model::Filled::Gap& gap : gaps) {
    if (gaps.size() > 1) out += terminal.dim(fmt::format("token {}", gap.token)) + "\n";
    for (const model::Choice& choice : gap.choices) {
      out += fmt::format("{}  {:.4f}  {}\n", terminal.bold(fitted(word_of(tokenizer, choice.id), 16)),
                         choice.probability, terminal.bar(choice.probability, 32));
    }
  }
  return out;
}

void FillCommand::run(ThreadPool& pool) const {
  const std::string written = text.read();
  const model::Reader reader = model::Reader::load(model.folder());
  const model::Filled filled = model::fill(reader, written, top, pool);
  if (filled.gaps.empty()) throw UsageError("the text has no [MASK]: write [MASK] where a word is missing");
  print(json ? as_line(to_json(filled, reader)) : to_table(filled.gaps, reader.tokenizer, Terminal::of_stdout()));
}

}  // namespace

void add_fill(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<FillCommand>();
  CLI::App* command = app.add_subcommand("fill", "Predict the words behind [MASK] in a text");
  options->model.add_to(*command);
  options->text.add_to(*command, "Text with [MASK] for each missing word");
  command->add_option("--top", options->top, "Number of words to show per [MASK]")
      ->check(CLI::Range(1, 1000))
      ->type_name("K")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
