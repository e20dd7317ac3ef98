// apps/cli/commands/analyze.cc - attnscope analyze: describe every head and suggest one to look at.
#include "apps/cli/commands/analyze.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "apps/cli/command.h"
#include "apps/cli/options/ranks.h"
#include "apps/cli/output/checked.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/output_file.h"
#include "apps/cli/output/progress.h"
#include "figure/scene/heads_report.h"
#include "insight/statistics/induction.h"

namespace attn::cli {

namespace {

// A text's attention, and the model's induction scores on random tokens that are repeated once.
struct GivenSource {
  RankedTables ranked;
  insight::RepeatedTokens repeated;  // empty: the scores come from a recording, or there are none

  [[nodiscard]] const nn::Matrix& induction() const {
    static const nn::Matrix none;
    const model::Recording* recording = ranked.layout().recording();
    return recording != nullptr ? recording->induction : none;
  }
};

GivenSource open(const SourceOption& source, Ranks& ranks, ThreadPool& pool) {
  const bool reads = !source.table && !source.recording && (source.text.text || source.text.file);
  if (!reads) return {source.open_unchecked(ranks, pool), {}};
  SourceOption::Opened opened = source.read({}, ranks, pool);
  GivenSource given;
  on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    opened.recording.induction = insight::induction_scores(opened.reader, pool);
    given.repeated = insight::repeated_tokens(opened.reader);
  });
  given.ranked = RankedTables::of(ranks, std::move(opened.recording));
  return given;
}

std::string heading(const insight::AttentionLayout& layout, const insight::HeadsReport& report) {
  const insight::AttentionStack& first = layout.stacks().front();
  return counted(std::ssize(report.heads), "head") + " on " + counted(first.queries, "token") +
         ", the most interesting first:";
}

std::vector<insight::HeadStatistics> statistics_of(const insight::AttentionTables& tables,
                                                   insight::StatisticsOptions options, ThreadPool& pool) {
  ProgressLine line;
  options.progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "head"); };
  return insight::statistics(tables, options, pool);
}

}  // namespace

std::string AnalyzeCommand::table_of(const insight::HeadsReport& report, const Terminal& terminal) const {
  const std::int64_t more = std::ssize(report.heads) - rows();
  return figure::table_of(report, rows(), terminal) +
         (more <= 0 ? "" : terminal.note(counted(more, "more head") + "; show them with --all or --top N"));
}

void AnalyzeCommand::write_figure(const insight::HeadsReport& report) const {
  if (figure.file.empty()) return;
  figure::Curves curves = figure::entropy_curves(report);
  figure.dress(curves);
  figure.write(curves);
}

void AnalyzeCommand::run_text(Shell& shell) const {
  Ranks& ranks = shell.ranks();
  ThreadPool& pool = shell.pool();
  const GivenSource given = open(source, ranks, pool);
  const insight::AttentionLayout& layout = given.ranked.layout();
  watch_for_interrupt();
  insight::StatisticsOptions options{.beyond = beyond};
  if (kind_name) options.kind = model::parse_kind(*kind_name);
  if (options.kind) on_all(ranks, [&] { or_usage([&] { static_cast<void>(layout.stack(*options.kind)); }); });
  insight::Findings found = checked(ranks, given.ranked, options, pool);
  on_all(ranks, [&] {
    if (found.check.no_weight && !source.recording)
      throw std::runtime_error(to_string(*found.check.no_weight) + " (attnscope heatmap draws any numbers)");
    source.report(found.check);
  });
  if (given.ranked.whole) found.statistics = statistics_of(*given.ranked.whole, options, pool);
  on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    const std::vector<insight::LayerStatistics> layers = layer_statistics(found.statistics);
    const insight::HeadsReport report(std::move(found.statistics), given.induction());
    write_figure(report);
    tell({layout, report, layers, found.check, given.repeated});
  });
}

void AnalyzeCommand::tell(const insight::Analysis& analysis) const {
  if (json) {
    OutputFile out(*json);
    out.write(as_line(to_json(analysis)));
    out.commit();
    return;
  }
  const Terminal terminal = Terminal::of_stdout();
  const auto& [layout, report, layers, check, repeated] = analysis;
  print(figure::failed_check(check, terminal) + figure::first_line(report, terminal) + "\n" +
        terminal.sentence({{heading(layout, report)}}) + table_of(report, terminal) +
        (check.failure ? "" : terminal.note("Checked: " + in_words(check) + ".")));
}

void AnalyzeCommand::run(Shell& shell) const { corpus ? run_corpus(*corpus, shell) : run_text(shell); }

void add_analyze(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<AnalyzeCommand>();
  CLI::App* command = app.add_subcommand("analyze", "Describe every head and suggest one to look at");
  command->footer(insight::kInterestRule);
  options->source.add_to(*command, SourceOption::Takes::tables);
  command->add_option("--kind", options->kind_name, "Kind of heads to show: self, decoder or cross (default: all)")
      ->check(CLI::IsMember({"self", "cross", "decoder"}));
  at_least(0, command->add_option("--beyond", options->beyond,
                                  "Distance in tokens from which a key counts as far: the share \"beyond\" in --json"))
      ->type_name("K")
      ->capture_default_str();
  auto* top = at_least(1, command->add_option("--top", options->top, "Number of heads to show"))
                  ->type_name("N")
                  ->capture_default_str();
  command->add_flag("--all", options->all, "Show all heads")->excludes(top);
  command->add_option("--json", options->json, "Write all numbers of all heads as one line of JSON")
      ->expected(0, 1)
      ->type_name("[FILE]");
  options->figure.add_to(*command, {.colours = false, .bar = false, .values = false, .reduce = false});
  command->get_option("--output")->description("File to draw the entropy of attention by layer to: .png, .svg or .pdf");

  auto* corpus =
      command
          ->add_option("--corpus", options->corpus,
                       "File of texts to average over: one per line, a column of .csv, or \"text\" in .jsonl")
          ->type_name("FILE");
  for (const char* other : {"--text", "--file", "--pair", "--target", "--recording", "--table"})
    corpus->excludes(other);
  const auto of_corpus = [&](CLI::Option* option, const char* type) { option->type_name(type)->needs(corpus); };
  of_corpus(at_least(1, command->add_option("--limit", options->limit,
                                            "Number of texts of the corpus to read, from the first (default: all)")),
            "N");
  of_corpus(command->add_option("--column", options->column, "Column or key of the corpus that holds the texts"),
            "NAME");
  of_corpus(command
                ->add_option("--max-tokens", options->max_tokens,
                             "Maximum number of tokens per text of the corpus; longer texts are cut")
                ->check(CLI::Range(2, 1 << 20))
                ->capture_default_str(),
            "N");
  of_corpus(
      command->add_option("--state", options->state,
                          "File that keeps the state of a stopped run, to resume it (default: beside the corpus)"),
      "FILE");
  of_corpus(command->add_option("--save-every", options->save_every, "Seconds between two saves of the state")
                ->check(CLI::Range(0.0, 86400.0))
                ->capture_default_str(),
            "SECONDS");
  command->callback([options, &shell] { options->run(shell); });
}

}  // namespace attn::cli
