// apps/cli/commands/record.cc - attnscope record: save a model's pass over a text for other commands to open.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "apps/cli/command.h"
#include "apps/cli/options/paths.h"
#include "apps/cli/options/ranks.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/checked.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "insight/statistics/induction.h"
#include "model/recording/recording_file.h"

namespace attn::cli {

namespace {

struct RecordCommand {
  SourceOption source;
  std::optional<std::string> output;
  bool all = false, json = false;

  void run(Shell& shell) const;

 private:
  // notes.attn for notes.txt, in the current folder and not beside the text.
  [[nodiscard]] std::string file() const {
    if (output) return *output;
    if (!source.text.file || *source.text.file == "-") return "recording.attn";
    return std::filesystem::path(*source.text.file).filename().replace_extension(".attn").string();
  }
};

std::string summary(const insight::AttentionLayout& layout, const std::string& file, const insight::CheckResult& result,
                    const Terminal& terminal) {
  const model::Origin& origin = layout.recording()->origin;
  const auto line = [&](const char* name, const std::string& text) {
    return terminal.dim(left(name, 9)) + text + "\n";
  };
  std::string out = line("file", fmt::format("{}, {}", terminal.bold(file),
                                             human_bytes(static_cast<double>(std::filesystem::file_size(file)))));
  out += line("model", fmt::format("{} ({})", origin.model, origin.type));
  for (const insight::AttentionStack& stack : layout.stacks()) {
    out += line(std::string(name_of(stack.kind)).c_str(),
                fmt::format("{} layers x {} heads, {} x {} tokens", stack.layers, stack.heads, grouped(stack.queries),
                            grouped(stack.keys)));
  }
  return out + line("checked", in_words(result));
}

Json to_json(const insight::AttentionLayout& layout, const std::string& file, const insight::CheckResult& result) {
  const model::Recording& recording = *layout.recording();
  Json json = {{"file", file},
               {"bytes", std::filesystem::file_size(file)},
               {"model", recording.origin.model},
               {"type", recording.origin.type},
               {"tokens", texts_of(recording.tokens)},
               {"target", texts_of(recording.target)},
               {"written", texts_of(recording.written)},
               {"stacks", Json::array()}};
  for (const insight::AttentionStack& stack : layout.stacks()) {
    json["stacks"].push_back({{"kind", std::string(name_of(stack.kind))},
                              {"layers", stack.layers},
                              {"heads", stack.heads},
                              {"queries", stack.queries},
                              {"keys", stack.keys}});
  }
  json["checked"] = {
      {"heads", result.heads}, {"rows", result.rows}, {"all_rows", result.all_rows}, {"deviation", result.deviation}};
  return json;
}

void RecordCommand::run(Shell& shell) const {
  Ranks& ranks = shell.ranks();
  ThreadPool& pool = shell.pool();
  const std::string name = file();
  if (name == "-") throw UsageError("--output needs a file name");
  if (!output && source.text.file) require_apart({{"--file", *source.text.file}}, {{"--output", name}});
  const model::Keep keep{.values = all, .inputs = all, .value_norms = true, .hidden = all};
  SourceOption::Opened opened = source.read(keep, ranks, pool);
  on_all(ranks, [&] {
    if (ranks.rank() == 0) opened.recording.induction = insight::induction_scores(opened.reader, pool);
  });
  const RankedTables ranked = RankedTables::of(ranks, std::move(opened.recording));
  const insight::AttentionLayout& layout = ranked.layout();
  const insight::CheckResult result = checked(ranks, ranked, std::nullopt, pool).check;
  watch_for_interrupt();
  on_all(ranks, [&] {
    if (result.failure)
      throw std::runtime_error("nothing was saved because the weights are wrong: " + in_words(result));
    model::save_recording(ranks, *layout.recording(), name, [] {
      if (interrupted()) throw Interrupted();
    });
  });
  on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    print(json ? as_line(to_json(layout, name, result)) : summary(layout, name, result, Terminal::of_stdout()));
  });
}

}  // namespace

void add_record(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<RecordCommand>();
  CLI::App* command = app.add_subcommand("record", "Save a model's pass over a text for other commands to open");
  options->source.add_to(*command, SourceOption::Takes::models);
  command
      ->add_option("--output,-o", options->output,
                   "File to write (default: recording.attn, or the name of --file with .attn)")
      ->type_name("FILE");
  command->add_flag("--all", options->all, "Also save values, inputs and hidden states, for trace");
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->callback([options, &shell] { options->run(shell); });
}

}  // namespace attn::cli
