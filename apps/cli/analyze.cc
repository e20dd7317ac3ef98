// cli/analyze.cc - attnscope analyze: what every head does, and which one to look at.
#include "analyze.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "checked.h"
#include "command.h"
#include "figure/heads_report.h"
#include "insight/induction.h"
#include "json.h"
#include "progress.h"
#include "table_file.h"

namespace attn::cli {

namespace {

// A text's attention, and what the model does with random tokens that come twice.
struct Material {
  std::unique_ptr<insight::Specimen> specimen;
  insight::RepeatedTokens repeated;  // none: the scores come from a recording, or there are none

  [[nodiscard]] const nn::Matrix& induction() const {
    static const nn::Matrix none;
    const model::Reading* reading = specimen->reading();
    return reading != nullptr ? reading->induction : none;
  }
};

Material open(const SourceOption& source, ThreadPool& pool) {
  const bool reads = source.text.text || source.text.file;
  if (source.table || source.recording || !reads) return {source.open_unchecked({}, pool), {}};
  SourceOption::Opened opened = source.read({}, pool);
  opened.reading.induction = insight::induction_scores(opened.reader, pool);
  return {std::make_unique<insight::RecordedSpecimen>(std::move(opened.reading)),
          insight::repeated_tokens(opened.reader)};
}

std::string heading(const insight::Specimen& specimen, const insight::HeadsReport& report) {
  const insight::Stack& first = specimen.stacks().front();
  return counted(std::ssize(report.heads), "head") + " on " + counted(first.queries, "token") +
         ", the most interesting first:";
}

std::vector<insight::HeadStatistics> statistics_of(const insight::Specimen& specimen,
                                                   insight::StatisticsOptions options, ThreadPool& pool) {
  ProgressLine line;
  options.progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "head"); };
  if (options.kind) or_usage([&] { static_cast<void>(specimen.stack(*options.kind)); });
  return insight::statistics(specimen, options, pool);
}

}  // namespace

std::string Analyze::table_of(const insight::HeadsReport& report, const Terminal& terminal) const {
  const std::int64_t more = std::ssize(report.heads) - rows();
  return figure::table_of(report, rows(), terminal) +
         (more <= 0 ? "" : terminal.note(counted(more, "more head") + ": --all shows them, --top N so many"));
}

void Analyze::write_figure(const insight::HeadsReport& report) const {
  if (figure.file.empty()) return;
  figure::Curves curves = figure::entropy_curves(report);
  figure.dress(curves);
  figure.write(curves);
}

void Analyze::run_text(ThreadPool& pool) const {
  const Material material = open(source, pool);
  const insight::Specimen& specimen = *material.specimen;
  watch_for_interrupt();
  const insight::CheckResult check = checked(specimen, pool);
  if (check.no_weight && !source.recording)
    throw std::runtime_error(to_string(*check.no_weight) + " (attnscope heatmap draws any numbers)");
  source.judge(check);
  insight::StatisticsOptions options{.beyond = beyond};
  if (kind_name) options.kind = model::parse_kind(*kind_name);
  std::vector<insight::HeadStatistics> statistics = statistics_of(specimen, options, pool);
  const std::vector<insight::LayerStatistics> layers = layer_statistics(statistics);
  const insight::HeadsReport report(std::move(statistics), material.induction());
  write_figure(report);
  if (json) {
    OutputFile out(*json);
    out.write(as_line(to_json(insight::Analysis{specimen, report, layers, check, material.repeated})));
    out.commit();
    return;
  }
  const Terminal terminal = Terminal::of_stdout();
  print(figure::failed_check(check, terminal) + figure::first_line(report, terminal) + "\n" +
        terminal.sentence({{heading(specimen, report)}}) + table_of(report, terminal) +
        (check.failure ? "" : terminal.note("Checked: " + in_words(check) + ".")));
}

void Analyze::run(ThreadPool& pool) const { corpus ? run_corpus(*corpus, pool) : run_text(pool); }

void add_analyze(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<Analyze>();
  CLI::App* command = app.add_subcommand("analyze", "What every head does, and which one to look at");
  command->footer(insight::kInterestRule);
  options->source.add_to(*command, SourceOption::Takes::tables);
  command->add_option("--kind", options->kind_name, "Heads of one kind only: self, decoder or cross")
      ->check(CLI::IsMember({"self", "cross", "decoder"}));
  at_least(0,
           command->add_option("--beyond", options->beyond, "How many tokens away is far: share \"beyond\" in --json"))
      ->type_name("K")
      ->capture_default_str();
  auto* top = at_least(1, command->add_option("--top", options->top, "How many heads to show"))
                  ->type_name("N")
                  ->capture_default_str();
  command->add_flag("--all", options->all, "Show all heads")->excludes(top);
  command->add_option("--json", options->json, "All numbers of all heads, as one line of JSON")
      ->expected(0, 1)
      ->type_name("[FILE]");
  options->figure.add_to(*command, {.colours = false, .bar = false, .values = false, .reduce = false});

  auto* corpus = command
                     ->add_option("--corpus", options->corpus,
                                  "Means over many texts: one a line, or a column of .csv, or \"text\" of .jsonl")
                     ->type_name("FILE");
  for (const char* other : {"--text", "--file", "--pair", "--target", "--recording", "--table"})
    corpus->excludes(other);
  const auto of_corpus = [&](CLI::Option* option, const char* type) { option->type_name(type)->needs(corpus); };
  of_corpus(
      at_least(1, command->add_option("--limit", options->limit, "Of the corpus, the first N texts (default: all)")),
      "N");
  of_corpus(command->add_option("--column", options->column, "Of the corpus, where the texts are"), "NAME");
  of_corpus(command->add_option("--max-tokens", options->max_tokens, "Longer texts of the corpus are cut")
                ->check(CLI::Range(2, 1 << 20))
                ->capture_default_str(),
            "N");
  of_corpus(command->add_option("--state", options->state,
                                "Where a run that is stopped is kept, to go on (default: beside the corpus)"),
            "FILE");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
