// apps/cli/commands/compare.cc - attnscope compare: two texts or two models, the most changed heads first.
#include "insight/experiments/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/options/figure_option.h"
#include "apps/cli/options/source.h"
#include "apps/cli/options/view_option.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "insight/tables/difference.h"
#include "model/run/prepare.h"

namespace attn::cli {

namespace {

using insight::AttentionTables;
using insight::Comparison;
using insight::Kind;

struct Sides {
  std::unique_ptr<AttentionTables> a, b;
};

struct CompareCommand {
  std::string a, b;
  std::string model;
  TextOption text;
  std::optional<std::string> target;
  HeadOption head;
  std::int64_t top = 10;
  bool json = false;
  bool one_kind = false;  // --kind is on the command line
  FigureOption figure;

  void run(ThreadPool& pool) const;

 private:
  [[nodiscard]] Sides open(ThreadPool& pool) const;
  [[nodiscard]] Sides two_recordings(ThreadPool& pool) const;
  [[nodiscard]] Sides two_texts(ThreadPool& pool) const;
  [[nodiscard]] Sides two_models(ThreadPool& pool) const;
  [[nodiscard]] std::optional<insight::HeadId> drawn(const AttentionTables& tables, const Comparison& found) const;
};

bool is_recording(const std::string& name) { return name.ends_with(".attn") && std::filesystem::is_regular_file(name); }

Sides CompareCommand::two_recordings(ThreadPool& pool) const {
  for (const std::string* name : {&a, &b}) {
    if (std::filesystem::is_regular_file(*name)) continue;
    throw UsageError(
        fmt::format("recording '{}' not found; to compare texts give --model, to compare models give --text", *name));
  }
  SourceOption first, second;
  first.recording = a;
  second.recording = b;
  return {first.open({}, pool), second.open({}, pool)};
}

Sides CompareCommand::two_texts(ThreadPool& pool) const {
  SourceOption first, second;
  first.model.name = model;
  first.text.text = a;
  second.text.text = b;
  first.target = second.target = target;
  SourceOption::Opened opened = first.read({}, pool);
  model::Recording other =
      model::read(opened.reader, model::prepared(second.text_given(), opened.reader, pool), {}, pool);
  other.origin.model = model;
  return {std::make_unique<insight::RecordedTables>(std::move(opened.recording)),
          std::make_unique<insight::RecordedTables>(std::move(other))};
}

Sides CompareCommand::two_models(ThreadPool& pool) const {
  SourceOption first, second;
  first.text.text = second.text.text = text.read();
  first.model.name = a;
  second.model.name = b;
  first.target = second.target = target;
  return {first.open({}, pool), second.open({}, pool)};
}

// The other options decide whether A and B are recordings, texts or models; their spelling does not.
Sides CompareCommand::open(ThreadPool& pool) const {
  const bool one_text = text.text || text.file;
  if (!model.empty() && one_text)
    throw UsageError("give either --model (A and B are texts) or --text (A and B are models), not both");
  if (model.empty() && !one_text && target) throw UsageError("--target does not apply to recordings");
  if (model.empty() && !one_text) return two_recordings(pool);
  for (const std::string* name : {&a, &b}) {
    if (is_recording(*name))
      throw UsageError(fmt::format("'{}' is a recording: leave out {}, or choose something else", *name,
                                   one_text ? text.name : "--model"));
  }
  return one_text ? two_models(pool) : two_texts(pool);
}

// ---- text ----

struct ComparedWord {
  std::string text;  // "-cat": only in A, "+dog": only in B
  bool changed = false;
};

std::vector<ComparedWord> words_of(const std::vector<text::Token>& a, const std::vector<text::Token>& b,
                                   const insight::Alignment& pairs) {
  std::vector<ComparedWord> words;
  const auto add = [&](std::string_view sign, const text::Token& token) {
    std::string_view text = token.text;
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    words.push_back({std::string(sign) + on_one_line(text), !sign.empty()});
  };
  std::size_t i = 0, j = 0;
  for (std::size_t k = 0; k <= pairs.a.size(); ++k) {
    const bool end = k == pairs.a.size();
    const std::size_t to_i = end ? a.size() : static_cast<std::size_t>(pairs.a[k]);
    const std::size_t to_j = end ? b.size() : static_cast<std::size_t>(pairs.b[k]);
    while (i < to_i) add("-", a[i++]);
    while (j < to_j) add("+", b[j++]);
    if (!end) add("", a[i++]), ++j;
  }
  return words;
}

// "... on the -mat +rug because it ...": what changed, with some context.
std::string as_changes(const std::vector<ComparedWord>& words) {
  constexpr std::ptrdiff_t kAround = 8;
  std::string out;
  bool left_out = false;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const auto from = word - std::min(kAround, word - words.begin());
    const auto to = word + std::min(kAround + 1, words.end() - word);
    const bool near = std::any_of(from, to, [](const ComparedWord& w) { return w.changed; });
    if (near || !left_out) out += (out.empty() ? "" : " ") + (near ? word->text : "...");
    left_out = !near;
  }
  return out;
}

std::string aligned_in_words(const Sides& sides, const Comparison& found, Kind kind, const Terminal& terminal) {
  constexpr std::size_t kMostLines = 4;
  const std::vector<text::Token>&a = sides.a->queries(kind), &b = sides.b->queries(kind);
  const insight::Alignment& pairs = found.of(kind).queries;
  const std::string what = kind == Kind::decoder ? " of the output" : "";
  std::string out = terminal.sentence(
      {{fmt::format("{} tokens{} are the same; A has {}, B has {}", pairs.size(), what, a.size(), b.size())}});
  if (pairs.size() == std::ssize(a) && a.size() == b.size()) return out;
  const std::vector<std::string> lines = figure::wrapped(as_changes(words_of(a, b, pairs)), terminal.width() - 2);
  for (std::size_t n = 0; n < std::min(kMostLines, lines.size()); ++n) out += terminal.dim("  " + lines[n]) + "\n";
  if (lines.size() > kMostLines) out += terminal.dim("  ...") + "\n";
  return out;
}

std::string to_table(const Sides& sides, const Comparison& found, std::int64_t top, const Terminal& terminal) {
  std::string out;
  for (const insight::AttentionStack& stack : sides.a->stacks()) {
    if (stack.kind == Kind::cross) continue;  // has the tokens of the other two
    out += aligned_in_words(sides, found, stack.kind, terminal);
  }
  const bool kinds = found.tokens.size() > 1;
  const int room = terminal.width() - (kinds ? 49 : 40);
  const int bar = room < 4 ? 0 : std::min(room, 30);
  out += terminal.bold(fmt::format("{}layer  head  {}  entropy A       B", kinds ? "kind     " : "",
                                   fitted("change", bar == 0 ? 6 : bar + 8))) +
         "\n";
  const auto count = std::min<std::int64_t>(top, std::ssize(found.heads));
  const double largest = found.heads.front().change;
  for (std::int64_t n = 0; n < count; ++n) {
    const auto& [head, change, entropy_a, entropy_b] = found.heads[static_cast<std::size_t>(n)];
    const std::string line = bar == 0 ? "" : "  " + terminal.bar(largest > 0 ? change / largest : 0, bar);
    out += fmt::format("{}{:>5}  {:>4}  {:.4f}{}  {:>9.3f}  {:>6.3f}\n", kinds ? fitted(name_of(head.kind), 9) : "",
                       head.layer, head.head, change, line, entropy_a, entropy_b);
  }
  const std::int64_t left = std::ssize(found.heads) - count;
  return out + terminal.note((left > 0 ? fmt::format("{} more heads; ", left) : "") +
                             "change: 0 the same, 1 nothing in common (Jensen-Shannon divergence, base 2)");
}

// ---- figure ----

void draw(const FigureOption& figure, const AttentionTables& less, const insight::HeadId& head, ThreadPool& pool) {
  figure::Heatmap map = figure::difference_of(less, head, figure.most_cells(figure::kDifferenceCells), pool);
  figure.dress(map);
  figure.write(std::move(map));
}

// The head to draw: that of --layer and --head, else, for a file, the most changed one.
std::optional<insight::HeadId> CompareCommand::drawn(const AttentionTables& tables, const Comparison& found) const {
  if (head.layer || head.head) return head.one(tables);
  if (figure.file.empty()) return std::nullopt;
  return found.heads.front().head;
}

void CompareCommand::run(ThreadPool& pool) const {
  const Sides sides = open(pool);
  ProgressLine line;
  Comparison found = insight::compare(*sides.a, *sides.b, pool,
                                      [&](std::int64_t done, std::int64_t total) { line.count(done, total, "head"); });
  line.clear();
  if (one_kind) {
    static_cast<void>(head.chosen(*sides.a));  // throws if there are no such heads
    std::erase_if(found.heads, [&](const insight::HeadChange& each) { return each.head.kind != head.kind(); });
  }
  const std::optional<insight::HeadId> one = drawn(*sides.a, found);
  print(json ? as_line(to_json(found, *sides.a, *sides.b)) : to_table(sides, found, top, Terminal::of_stdout()));
  if (!one || (json && figure.file.empty())) return;
  draw(figure, *insight::difference(*sides.a, *sides.b, found), *one, pool);
}

}  // namespace

void add_compare(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<CompareCommand>();
  CLI::App* command = app.add_subcommand("compare", "Compare two texts or two models, the most changed heads first");
  command->add_option("A", options->a, "Recording (.attn); with --model a text; with --text a model")->required();
  command->add_option("B", options->b, "What to compare A with, of the same kind")->required();
  command->add_option("--model,-m", options->model, "Model that reads both: A and B are texts")->type_name("DIR|NAME");
  options->text.add_to(*command, "Text that both read: A and B are models");
  command->add_option("--target", options->target, "Output of an encoder-decoder (default: what the model generates)")
      ->type_name("TEXT");
  options->head.add_to(*command);
  command->add_option("--top", options->top, "Number of heads to list")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one line of JSON: aligned tokens, all heads");
  options->figure.shade.cmap = figure::kDifferenceColours;
  options->figure.add_to(*command, {.reduce = false});
  command->footer(
      "Without --model and --text, A and B are recordings. Tokens are aligned by their longest common subsequence.\n"
      "A head's change: over the aligned queries, the mean Jensen-Shannon divergence (base 2, 0 to 1) of the two rows\n"
      "over the aligned keys plus one more entry for all keys that the other text lacks. Entropies are in nats.\n"
      "The figure is A - B on the aligned tokens, for the head of --layer and --head, else for the most changed one.");
  const CLI::Option* kind = command->get_option("--kind");
  command->callback([options, kind, &shell] {
    options->one_kind = kind->count() > 0;
    options->run(shell.pool());
  });
}

}  // namespace attn::cli
