// apps/cli/commands/trace.cc - attnscope trace: one attention weight with every number behind it.
#include "insight/paths/trace.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "figure/scene/label.h"
#include "figure/scene/named_tokens.h"

namespace attn::cli {

namespace {

using insight::Trace;

struct TraceCommand {
  SourceOption source;
  HeadOption head;
  std::string query;
  std::optional<std::string> key;
  bool json = false;

  void run(ThreadPool& pool) const;
};

// The index of a token named by its number, or by its text if that is unique. Throws UsageError.
std::int64_t token_named(const std::string& name, const std::vector<text::Token>& tokens, const char* option) {
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data(), end, number);
  if (problem == std::errc() && stop == end && number >= 0 && number < std::ssize(tokens)) return number;
  const std::vector<std::int64_t> found = or_usage([&] { return figure::named_tokens(tokens, name); });
  if (found.size() == 1) return found[0];
  throw UsageError(fmt::format("{} {}: {} match; choose one by its number: {}", option, name,
                               counted(std::ssize(found), "token"), fmt::join(found, ", ")));
}

// The tokens at both ends of a weight.
struct Ends {
  const text::Token &query, &key;
};

// ---- text ----

constexpr int kLabelWidth = 13;

std::string label(const Terminal& terminal, std::string_view name) { return terminal.bold(fitted(name, kLabelWidth)); }

// A label, its text, and a note, which moves to its own line if it does not fit.
std::string entry(const Terminal& terminal, std::string_view name, const std::string& said, const std::string& note) {
  const int room = terminal.width() - kLabelWidth;
  const std::string remark = terminal.sentence({{note, Phrase::Style::dim}}, kLabelWidth);
  if (said.empty()) return label(terminal, name) + remark;
  if (note.empty() || columns_of(said) + 2 + columns_of(note) > room) {
    const std::string first = label(terminal, name) + terminal.sentence({{said}}, kLabelWidth);
    return note.empty() ? first : first + repeat(" ", kLabelWidth) + remark;
  }
  return label(terminal, name) + said + "  " + remark;
}

// As many numbers as fit, with their count and the vector's norm.
template <typename T>
std::string vector_line(const Terminal& terminal, std::string_view name, const std::vector<T>& numbers,
                        std::string_view note) {
  const double norm = std::sqrt(std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0.0));
  const std::string facts = fmt::format("{}, norm {:.4f}", counted(std::ssize(numbers), "number"), norm);
  const std::size_t room = static_cast<std::size_t>(terminal.width() - kLabelWidth - 2);
  std::string shown;
  std::size_t count = 0;
  for (; count < numbers.size(); ++count) {
    const std::string next = fmt::format("{:8.4f} ", numbers[count]);
    if (count > 0 && shown.size() + next.size() > room) break;
    shown += next;
  }
  if (count < numbers.size()) shown += "…";
  return entry(terminal, name, "", facts + (note.empty() ? "" : "; " + std::string(note))) +
         without_blank_ends(repeat(" ", kLabelWidth) + shown + "\n");
}

// Negative products are drawn in another shade, in whole columns.
std::string signed_bar(double share, int width, const Terminal& terminal) {
  if (share >= 0) return terminal.bar(share, width);
  return terminal.dim(repeat("░", std::max(1, static_cast<int>(std::lround(-share * width)))));
}

std::string products(const Trace& t, const Terminal& terminal) {
  constexpr std::size_t kMost = 8;
  constexpr int kTable = 39, kShortest = 4;
  std::vector<std::size_t> order(t.products.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::abs(t.products[a]) > std::abs(t.products[b]); });
  const std::size_t shown = std::min(kMost, order.size());
  const double largest = order.empty() ? 0 : std::abs(t.products[order[0]]);
  const bool beside = terminal.width() >= kLabelWidth + kTable + 1 + kShortest;  // the labels
  const int indent = beside ? kLabelWidth : 0;
  const int room = terminal.width() - indent - kTable - 1;
  const int bar = room < kShortest ? 0 : std::min(room, 32);
  const bool negative = std::any_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown),
                                    [&](std::size_t d) { return t.products[d] < 0; });
  std::string out = label(terminal, "products") + (beside ? "" : "\n") +
                    terminal.dim(fmt::format("     d        q          k        q k{}",
                                             negative && bar >= 9 ? "    ░ below 0" : "")) +
                    "\n";
  double rest = t.dot;
  for (std::size_t n = 0; n < shown; ++n) {
    const std::size_t d = order[n];
    rest -= t.products[d];
    out += fmt::format("{}{:6} {:10.4f} {:10.4f} {:10.4f} {}\n", repeat(" ", indent), d, t.q[d], t.k[d], t.products[d],
                       bar == 0 ? "" : signed_bar(largest > 0 ? t.products[d] / largest : 0, bar, terminal));
  }
  if (shown < order.size())
    out += fmt::format("{}{:>28} {:10.4f}\n", repeat(" ", indent),
                       "the other " + grouped(std::ssize(order) - static_cast<std::int64_t>(shown)), rest);
  out += terminal.bold(fitted("dot", beside ? kLabelWidth : 3)) +
         fmt::format("{:>{}} {:10.4f}\n", "their sum", beside ? 28 : 25, t.dot);
  return without_blank_ends(out);
}

std::string weight_line(const Trace& t, const Terminal& terminal) {
  constexpr int kBar = 20, kShortest = 4;
  const std::string how = t.allowed ? fmt::format("exp({:.4f} - {:.4f}) =", t.score, t.lse) : "";
  const std::string weight = fmt::format("{:.6f}", t.weight);
  std::string out = label(terminal, "weight");
  int used = kLabelWidth;
  if (!how.empty()) {
    const bool fits = kLabelWidth + columns_of(how) + 1 + columns_of(weight) + 2 + kShortest <= terminal.width();
    out += how + (fits ? " " : "\n" + repeat(" ", kLabelWidth));
    if (fits) used += columns_of(how) + 1;
  }
  const int bar = std::min(kBar, terminal.width() - used - columns_of(weight) - 2);
  return without_blank_ends(out + terminal.bold(weight) + "  " + terminal.bar(t.weight, bar) + "\n");
}

std::string score(const Trace& t, const Terminal& terminal) {
  std::string out = entry(terminal, "scale", fmt::format("{:.6f}", t.scale), "");
  if (t.softcap)
    out += entry(terminal, "softcap", fmt::format("{:.4f}", *t.softcap), "cap(x) = softcap tanh(x / softcap)");
  if (t.bias) {
    const std::string bucket = t.bucket ? fmt::format("bucket {} ", *t.bucket) : "";
    out += entry(terminal, "bias", fmt::format("{:.4f}", *t.bias),
                 fmt::format("{}of distance {}", bucket, t.key - t.query));
  }
  out += entry(terminal, "mask", t.mask + (t.allowed ? "" : ": the query may not see this key"), "");
  const std::string bias = t.bias ? fmt::format(" + {:.4f}", *t.bias) : "";
  const std::string product = fmt::format("{:.4f} x {:.6f}", t.dot, t.scale);
  const std::string capped = t.softcap ? "cap(" + product + ")" : product;
  out += entry(terminal, "score", t.allowed ? fmt::format("{}{} = {:.4f}", capped, bias, t.score) : "-inf", "");
  if (t.sink) out += entry(terminal, "sink", fmt::format("{:.4f}", *t.sink), "a score of the row without a key");
  out += entry(terminal, "lse", fmt::format("{:.4f}", t.lse), "log of the sum of exp(score) over the row");
  return out + weight_line(t, terminal);
}

std::string contribution(const Trace& t, const Terminal& terminal) {
  if (t.contribution.empty()) {
    return t.contribution_norm
               ? entry(terminal, "contribution", fmt::format("norm {:.4f}", *t.contribution_norm), "weight |v W_O|")
               : "";
  }
  const std::string all =
      t.share ? fmt::format("of the head's whole output for this query, norm {:.4f}", t.head_output_norm.value_or(0))
              : "none: the head's output for this query is zero";
  return vector_line(terminal, "contribution", t.contribution, "weight v W_O") +
         entry(terminal, "share", t.share ? fmt::format("{:.4f}", *t.share) : "", all);
}

// Note on what the recording lacks; empty: nothing.
std::string missing(const Trace& t) {
  std::string names;
  if (t.x.empty()) names += "x, ";
  if (t.v.empty()) names += "v, ";
  if (t.contribution.empty()) names += "contribution, ";
  if (names.empty()) return "";
  names.resize(names.size() - 2);
  const bool recorded = !t.x.empty() && !t.v.empty();
  return fmt::format("not in the recording: {}; {}", names,
                     recorded ? "W_O is part of the model: use --model and --text"
                              : "attnscope record --all saves x and v; --model and --text give all");
}

std::string to_text(const Trace& t, const Ends& ends, const Terminal& terminal) {
  using enum Phrase::Style;
  const char* const role = t.head.kind == model::Kind::cross ? ", being written" : "";
  std::string out = terminal.sentence({{to_string(t.head) + ":"},
                                       {figure::visible(ends.query.text), bold},
                                       {fmt::format("(query {}{})", t.query, role), dim},
                                       {"looks at"},
                                       {figure::visible(ends.key.text), bold},
                                       {fmt::format("(key {})", t.key), dim}});
  if (!t.x.empty()) out += vector_line(terminal, "x", t.x, "the state that q is projected from");
  out += vector_line(terminal, "q", t.q, "of the query");
  out += vector_line(terminal, "k", t.k,
                     t.key_head == t.head.head ? "of the key" : fmt::format("of the key, key head {}", t.key_head));
  out += products(t, terminal) + score(t, terminal);
  if (!t.v.empty()) out += vector_line(terminal, "v", t.v, "of the key");
  out += contribution(t, terminal);
  const std::string lacks = missing(t);
  return lacks.empty() ? out : out + terminal.note(lacks);
}

void TraceCommand::run(ThreadPool& pool) const {
  std::optional<model::Reader> reader;
  std::unique_ptr<insight::AttentionTables> tables;
  if (source.recording) {
    tables = source.open({}, pool);
  } else {
    SourceOption::Opened opened = source.read({.values = true, .inputs = true}, pool);
    reader = std::move(opened.reader);
    tables = std::make_unique<insight::RecordedTables>(std::move(opened.recording));
  }
  insight::TracePlace place{head.one(*tables), 0, {}};
  const auto& queries = tables->queries(place.head.kind);
  const auto& keys = tables->keys(place.head.kind);
  place.query = token_named(query, queries, "--query");
  if (key) place.key = token_named(*key, keys, "--key");
  const Trace found = insight::trace(*tables->recording(), place, reader ? reader->model.get() : nullptr, pool);
  if (!std::isfinite(found.dot) || !std::isfinite(found.weight))
    throw std::runtime_error("scores are not finite: the model's weights are broken");
  const Ends ends{queries[static_cast<std::size_t>(found.query)], keys[static_cast<std::size_t>(found.key)]};
  print(json ? as_line(to_json(found, ends.query.text, ends.key.text)) : to_text(found, ends, Terminal::of_stdout()));
}

}  // namespace

void add_trace(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<TraceCommand>();
  CLI::App* command = app.add_subcommand("trace", "Show one attention weight with every number behind it");
  options->source.add_to(*command, SourceOption::Takes::recordings);
  options->head.add_to(*command);
  command->add_option("--query", options->query, "Token that attends: its number, or its text if unique")
      ->required()
      ->type_name("I|TOKEN");
  command->add_option("--key", options->key, "Token attended to (default: the one with the largest weight)")
      ->type_name("J|TOKEN");
  command->add_flag("--json", options->json, "Print one line of JSON with all numbers in full");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
