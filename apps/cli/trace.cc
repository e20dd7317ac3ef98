// cli/trace.cc - attnscope trace: one attention weight with every number on its way.
#include "insight/trace.h"

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

#include "command.h"
#include "json.h"
#include "named_token.h"
#include "source.h"
#include "terminal.h"

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

// A token's number, or its text where only one has it.
std::int64_t token_named(const std::string& name, const std::vector<text::Token>& tokens, const char* option) {
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data(), end, number);
  if (problem == std::errc() && stop == end && number >= 0 && number < std::ssize(tokens)) return number;
  const std::vector<std::int64_t> found = named_tokens(tokens, name);
  if (found.size() == 1) return found[0];
  throw UsageError(fmt::format("{} {}: {} tokens say that, choose one by its number: {}", option, name, found.size(),
                               fmt::join(found, ", ")));
}

std::vector<float> floats(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

Json or_null(const std::optional<double>& number) { return number ? Json(static_cast<float>(*number)) : Json(nullptr); }

Json or_null(const std::vector<float>& numbers) { return numbers.empty() ? Json(nullptr) : Json(numbers); }

// Tokens on both sides.
struct Ends {
  const text::Token &query, &key;
};

Json to_json(const Trace& t, const Ends& ends) {
  return {{"kind", std::string(name_of(t.head.kind))},
          {"layer", t.head.layer},
          {"head", t.head.head},
          {"key_head", t.key_head},
          {"query", {{"token", t.query}, {"text", ends.query.text}}},
          {"key", {{"token", t.key}, {"text", ends.key.text}}},
          {"x", or_null(t.x)},
          {"q", t.q},
          {"k", t.k},
          {"products", floats(t.products)},
          {"dot", static_cast<float>(t.dot)},
          {"scale", static_cast<float>(t.scale)},
          {"bias", or_null(t.bias)},
          {"bucket", t.bucket ? Json(*t.bucket) : Json(nullptr)},
          {"mask", t.mask},
          {"allowed", t.allowed},
          {"score", t.allowed ? Json(static_cast<float>(t.score)) : Json(nullptr)},
          {"lse", static_cast<float>(t.lse)},
          {"weight", static_cast<float>(t.weight)},
          {"v", or_null(t.v)},
          {"contribution", or_null(floats(t.contribution))},
          {"contribution_norm", or_null(t.contribution_norm)},
          {"head_output", or_null(floats(t.head_output))},
          {"head_output_norm", or_null(t.head_output_norm)},
          {"share", or_null(t.share)}};
}

// ---- text ----

constexpr int kLabel = 13;

std::string label(const Terminal& terminal, std::string_view name) { return terminal.bold(fitted(name, kLabel)); }

// As many as fit, with how many there are and how long the vector is.
template <typename T>
std::string vector_line(const Terminal& terminal, std::string_view name, const std::vector<T>& numbers,
                        std::string_view note) {
  const double norm = std::sqrt(std::inner_product(numbers.begin(), numbers.end(), numbers.begin(), 0.0));
  const std::string facts = fmt::format("{} numbers, norm {:.4f}", numbers.size(), norm);
  const auto room = std::max(1, (terminal.width() - kLabel - 4) / 9);
  std::string shown;
  for (std::size_t i = 0; i < std::min(numbers.size(), static_cast<std::size_t>(room)); ++i)
    shown += fmt::format("{:8.4f} ", numbers[i]);
  if (numbers.size() > static_cast<std::size_t>(room)) shown += "…";
  return label(terminal, name) + terminal.dim(facts + (note.empty() ? "" : "; " + std::string(note))) + "\n" +
         repeat(" ", kLabel) + shown + "\n";
}

std::string products(const Trace& t, const Terminal& terminal) {
  constexpr std::size_t kMost = 8;
  std::vector<std::size_t> order(t.products.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::abs(t.products[a]) > std::abs(t.products[b]); });
  const std::size_t shown = std::min(kMost, order.size());
  const double largest = order.empty() ? 0 : std::abs(t.products[order[0]]);
  const int bar = std::clamp(terminal.width() - kLabel - 40, 4, 32);
  std::string out = label(terminal, "products") + terminal.dim("     d        q          k        q k") + "\n";
  double rest = t.dot;
  for (std::size_t n = 0; n < shown; ++n) {
    const std::size_t d = order[n];
    rest -= t.products[d];
    out += fmt::format("{}{:6} {:10.4f} {:10.4f} {:10.4f} {}\n", repeat(" ", kLabel), d, t.q[d], t.k[d], t.products[d],
                       terminal.bar(largest > 0 ? std::abs(t.products[d]) / largest : 0, bar));
  }
  if (shown < order.size())
    out += fmt::format("{}{:>28} {:10.4f}\n", repeat(" ", kLabel), fmt::format("the other {}", order.size() - shown),
                       rest);
  return out + label(terminal, "dot") + fmt::format("{:>28} {:10.4f}\n", "their sum", t.dot);
}

std::string score(const Trace& t, const Terminal& terminal) {
  std::string out = label(terminal, "scale") + fmt::format("{:.6f}\n", t.scale);
  if (t.bias) {
    out += label(terminal, "bias") + fmt::format("{:.4f}", *t.bias) +
           terminal.dim(fmt::format("  bucket {} of distance {}", t.bucket.value_or(0), t.key - t.query)) + "\n";
  }
  out += label(terminal, "mask") + t.mask + (t.allowed ? "\n" : ": the query may not see this key\n");
  out += label(terminal, "score");
  if (t.allowed) {
    const std::string bias = t.bias ? fmt::format(" + {:.4f}", *t.bias) : "";
    out += fmt::format("{:.4f} x {:.6f}{} = {:.4f}\n", t.dot, t.scale, bias, t.score);
  } else {
    out += "-inf\n";
  }
  out += label(terminal, "lse") + fmt::format("{:.4f}", t.lse) +
         terminal.dim("  log of the sum of exp(score) over the row") + "\n";
  out += label(terminal, "weight");
  out += t.allowed ? fmt::format("exp({:.4f} - {:.4f}) = ", t.score, t.lse) : "";
  return out + terminal.bold(fmt::format("{:.6f}", t.weight)) + "  " + terminal.bar(t.weight, 20) + "\n";
}

std::string contribution(const Trace& t, const Terminal& terminal) {
  std::string out;
  if (!t.contribution.empty()) {
    out += vector_line(terminal, "contribution", t.contribution, "weight v W_O");
    out += label(terminal, "share");
    out += t.share ? fmt::format("{:.4f}", *t.share) +
                         terminal.dim(fmt::format("  of the head's whole output for this query, norm {:.4f}",
                                                  t.head_output_norm.value_or(0)))
                   : terminal.dim("none: the head's output for this query is zero");
    out += "\n";
  } else if (t.contribution_norm) {
    out += label(terminal, "contribution") + fmt::format("norm {:.4f}", *t.contribution_norm) +
           terminal.dim("  weight |v W_O|") + "\n";
  }
  return out;
}

// What a recording lacks.
std::string missing(const Trace& t) {
  std::string names;
  if (t.x.empty()) names += "x, ";
  if (t.v.empty()) names += "v, ";
  if (t.contribution.empty()) names += "contribution, ";
  if (names.empty()) return "";
  names.resize(names.size() - 2);
  const bool recorded = !t.x.empty() && !t.v.empty();
  return fmt::format("not in the recording: {}; {}", names,
                     recorded ? "W_O is the model's: --model and --text have all"
                              : "attnscope record --all keeps x and v, --model and --text have all");
}

std::string to_text(const Trace& t, const Ends& ends, const Terminal& terminal) {
  std::string out =
      fmt::format("{}: {} {} looks at {} {}\n", to_string(t.head), terminal.bold(on_one_line(ends.query.text)),
                  terminal.dim(fmt::format("(query {})", t.query)), terminal.bold(on_one_line(ends.key.text)),
                  terminal.dim(fmt::format("(key {})", t.key)));
  if (!t.x.empty()) out += vector_line(terminal, "x", t.x, "what q is projected from");
  out += vector_line(terminal, "q", t.q, "of the query");
  out += vector_line(terminal, "k", t.k,
                     t.key_head == t.head.head ? "of the key" : fmt::format("of the key, key head {}", t.key_head));
  out += products(t, terminal) + score(t, terminal);
  if (!t.v.empty()) out += vector_line(terminal, "v", t.v, "of the key");
  out += contribution(t, terminal);
  const std::string lacks = missing(t);
  return lacks.empty() ? out : out + terminal.dim(lacks) + "\n";
}

void TraceCommand::run(ThreadPool& pool) const {
  std::optional<model::Reader> reader;
  std::unique_ptr<insight::Specimen> specimen;
  if (source.recording) {
    specimen = source.open({}, pool);
  } else {
    SourceOption::Opened opened = source.read({.values = true, .inputs = true}, pool);
    reader = std::move(opened.reader);
    specimen = std::make_unique<insight::RecordedSpecimen>(std::move(opened.reading));
  }
  insight::TracePlace place{head.one(*specimen), 0, {}};
  const auto& queries = specimen->queries(place.head.kind);
  const auto& keys = specimen->keys(place.head.kind);
  place.query = token_named(query, queries, "--query");
  if (key) place.key = token_named(*key, keys, "--key");
  const Trace found = insight::trace(*specimen->reading(), place, reader ? reader->model.get() : nullptr, pool);
  if (!std::isfinite(found.dot) || !std::isfinite(found.weight))
    throw std::runtime_error("scores are not numbers: the model's own weights are broken");
  const Ends ends{queries[static_cast<std::size_t>(found.query)], keys[static_cast<std::size_t>(found.key)]};
  print(json ? as_line(to_json(found, ends)) : to_text(found, ends, Terminal::of_stdout()));
}

}  // namespace

void add_trace(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<TraceCommand>();
  CLI::App* command = app.add_subcommand("trace", "One attention weight with every number on its way");
  options->source.add_to(*command, SourceOption::Takes::recordings);
  options->head.add_to(*command);
  command->add_option("--query", options->query, "The token that looks: its number, or its text if only one has it")
      ->required()
      ->type_name("I|TOKEN");
  command->add_option("--key", options->key, "The token that is looked at (default: the one with the largest weight)")
      ->type_name("J|TOKEN");
  command->add_flag("--json", options->json, "One line of JSON with all numbers in full");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
