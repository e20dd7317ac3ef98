// apps/cli/commands/explain.cc - attnscope explain: show which words each word attends to most.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "figure/scene/named_tokens.h"
#include "insight/statistics/words_attended.h"
#include "insight/tables/words.h"

namespace attn::cli {

namespace {

using insight::Attended;
using insight::AttentionTables;
using insight::HeadId;

struct ExplainCommand {
  SourceOption source;
  HeadOption heads;
  std::optional<std::string> word;
  std::optional<std::int64_t> occurrence;
  insight::AttendedOptions look;
  bool json = false;

  void run(ThreadPool& pool) const;
};

// The words and the heads to show.
struct ExplainScene {
  const AttentionTables& words;
  std::vector<HeadId> heads;
  insight::AttendedOptions look;

  [[nodiscard]] const std::vector<text::Token>& queries() const { return words.queries(heads.front().kind); }
  [[nodiscard]] const std::vector<text::Token>& keys() const { return words.keys(heads.front().kind); }
  [[nodiscard]] std::string key(std::int64_t j) const { return on_one_line(keys()[static_cast<std::size_t>(j)].text); }
  [[nodiscard]] std::string query(std::int64_t i) const {
    return on_one_line(queries()[static_cast<std::size_t>(i)].text);
  }
};

struct ExplainRow {
  std::int64_t word = 0;
  Attended attends;
};

// Throws std::runtime_error for weights that are not finite: they come from a broken model and have no maximum.
Attended attended_by(const ExplainScene& scene, std::span<const float> weights) {
  if (!std::isfinite(std::reduce(weights.begin(), weights.end())))
    throw std::runtime_error("attention weights are not finite: the model's weights are broken");
  return attended(weights, scene.keys(), scene.look);
}

std::vector<ExplainRow> all_rows(const ExplainScene& scene, ThreadPool& pool) {
  std::vector<ExplainRow> rows;
  ProgressLine progress;
  const auto take = [&](std::int64_t query, std::span<const float> weights) {
    progress.count(query, std::ssize(scene.queries()), "word");
    if (scene.queries()[static_cast<std::size_t>(query)].special && !scene.look.special) return;
    rows.push_back({query, attended_by(scene, weights)});
  };
  each_mean_row(scene.words, scene.heads, take, pool);
  return rows;
}

// One word in every head.
std::vector<Attended> in_every_head(const ExplainScene& scene, std::int64_t word, ThreadPool& pool) {
  std::vector<Attended> out;
  nn::Matrix row(1, std::ssize(scene.keys()));
  for (const HeadId& head : scene.heads) {
    scene.words.weights(head, {word, 0}, row.view(), pool);
    out.push_back(attended_by(scene, {row.data(), static_cast<std::size_t>(row.columns())}));
  }
  return out;
}

std::vector<std::int64_t> chosen_words(const ExplainScene& scene, const std::string& asked,
                                       std::optional<std::int64_t> occurrence) {
  std::vector<std::int64_t> found = or_usage([&] { return figure::named_tokens(scene.queries(), asked, "word"); });
  if (!occurrence) return found;
  if (*occurrence > std::ssize(found)) {
    throw UsageError(fmt::format("'{}' occurs {}: --occurrence must be 1 to {}", asked,
                                 counted(std::ssize(found), "time"), grouped(std::ssize(found))));
  }
  return {found[static_cast<std::size_t>(*occurrence - 1)]};
}

// ---- JSON ----

void add_attended(Json& json, const Attended& attends, const ExplainScene& scene) {
  json["most"] = Json::array();
  for (const auto& [key, weight] : attends.most) {
    json["most"].push_back(
        {{"key", key}, {"text", scene.keys()[static_cast<std::size_t>(key)].text}, {"weight", weight}});
  }
  json["special"] = static_cast<float>(attends.special);
  json["rest"] = static_cast<float>(attends.rest);
}

Json frame(const ExplainScene& scene, const HeadOption& option) {
  return {{"kind", std::string(name_of(option.kind()))},
          {"layer", option.layer ? Json(*option.layer) : Json(nullptr)},
          {"head", option.head ? Json(*option.head) : Json(nullptr)},
          {"words", texts_of(scene.queries())},
          {"keys", texts_of(scene.keys())}};
}

Json to_json(const ExplainScene& scene, const ExplainRow& row) {
  Json json = {{"word", row.word}, {"text", scene.queries()[static_cast<std::size_t>(row.word)].text}};
  add_attended(json, row.attends, scene);
  return json;
}

Json to_json(const ExplainScene& scene, std::int64_t word, const std::vector<Attended>& heads) {
  Json json = {
      {"word", word}, {"text", scene.queries()[static_cast<std::size_t>(word)].text}, {"heads", Json::array()}};
  for (std::size_t h = 0; h < heads.size(); ++h) {
    Json one = {{"layer", scene.heads[h].layer}, {"head", scene.heads[h].head}};
    add_attended(one, heads[h], scene);
    json["heads"].push_back(std::move(one));
  }
  return json;
}

// ---- text ----

// "[CLS], [SEP]"
std::string special_names(const ExplainScene& scene) {
  std::vector<std::string> seen;
  for (const text::Token& key : scene.keys()) {
    if (key.special && std::ranges::find(seen, key.text) == seen.end()) seen.push_back(key.text);
  }
  std::string names;
  for (const std::string& name : seen) names += (names.empty() ? "" : ", ") + name;
  return names;
}

int widest(const std::vector<text::Token>& words) {
  int width = 4;
  for (const text::Token& word : words) width = std::max(width, columns_of(on_one_line(word.text)));
  return std::min(width, 14);
}

// The attention that goes to words not shown.
std::string remainder(const Attended& attends, const ExplainScene& scene, const std::string& special) {
  std::string said;
  if (!special.empty() && !scene.look.special) said = fmt::format("{:.3f} on {}", attends.special, special);
  if (attends.rest > 0) said += fmt::format("{}{:.3f} on others", said.empty() ? "" : "; ", attends.rest);
  return said;
}

std::string heads_in_words(const ExplainScene& scene, const HeadOption& option) {
  const insight::AttentionStack& stack = scene.words.stack(option.kind());
  if (scene.heads.size() == 1) return to_string(scene.heads.front());
  if (option.layer) return fmt::format("mean over the {} of layer {}", counted(stack.heads, "head"), *option.layer);
  if (option.head) return fmt::format("mean over head {} of {}", *option.head, counted(stack.layers, "layer"));
  return fmt::format("mean over {} x {}", stack.layers, counted(stack.heads, "head"));
}

std::string to_text(const ExplainScene& scene, const std::vector<ExplainRow>& rows, const Terminal& terminal) {
  const std::string special = special_names(scene);
  constexpr int kShortest = 4, kBetween = 12;  // bar; with the weight
  const int most = (terminal.width() - kBetween - kShortest) / 2;
  const int label = std::min(widest(scene.queries()), most), name = std::min(widest(scene.keys()), most);
  float largest = 0;
  std::size_t said = 0;
  for (const ExplainRow& row : rows) {
    for (const auto& share : row.attends.most) largest = std::max(largest, share.weight);
    said = std::max(said, remainder(row.attends, scene, special).size());
  }
  const int fixed = label + name + kBetween;
  const bool beside = terminal.width() - fixed - static_cast<int>(said) >= 12;
  const int bar = std::clamp(terminal.width() - fixed - (beside ? static_cast<int>(said) + 2 : 0), kShortest, 40);
  std::string out;
  for (const ExplainRow& row : rows) {
    std::string first = terminal.bold(fitted(scene.query(row.word), label));
    const std::string rest = remainder(row.attends, scene, special);
    for (std::size_t n = 0; n < row.attends.most.size(); ++n) {
      const auto& [key, weight] = row.attends.most[n];
      const bool last = n + 1 == row.attends.most.size();
      out += fmt::format("{}  {}  {:.4f}  {}{}\n", first, fitted(scene.key(key), name), weight,
                         terminal.bar(largest > 0 ? weight / largest : 0, bar),
                         last && beside ? "  " + terminal.dim(rest) : "");
      first = repeat(" ", label);
    }
    if (!beside && !rest.empty())
      out += repeat(" ", label + 2) + terminal.sentence({{rest, Phrase::Style::dim}}, label + 2);
  }
  return without_blank_ends(out);
}

// Layers down, heads across: the word with the largest weight, and the weight. Heads that do not fit wrap below.
std::string to_grid(const ExplainScene& scene, const std::vector<Attended>& found, const Terminal& terminal) {
  constexpr int kLabel = 6;
  std::vector<std::int64_t> layers, heads;
  for (const HeadId& head : scene.heads) {
    if (layers.empty() || layers.back() != head.layer) layers.push_back(head.layer);
    if (head.layer == scene.heads.front().layer) heads.push_back(head.head);
  }
  const int cell = std::clamp((terminal.screen().width - kLabel) / static_cast<int>(heads.size()), 6, 12);
  const auto across = static_cast<std::size_t>(std::max(1, (terminal.screen().width - kLabel) / cell));
  std::string out;
  for (std::size_t from = 0; from < heads.size(); from += across) {
    const std::size_t to = std::min(from + across, heads.size());
    out += terminal.dim("layer ");
    for (std::size_t h = from; h < to; ++h) out += terminal.dim(fitted(std::to_string(heads[h]), cell));
    out += "\n";
    for (std::size_t l = 0; l < layers.size(); ++l) {
      std::string names = terminal.bold(fitted(std::to_string(layers[l]), kLabel));
      std::string numbers = repeat(" ", kLabel);
      for (std::size_t h = from; h < to; ++h) {
        const Attended& one = found[l * heads.size() + h];
        names += one.most.empty() ? repeat(" ", cell) : fitted(scene.key(one.most[0].key), cell - 1) + " ";
        const float weight = one.most.empty() ? 0 : one.most[0].weight;
        numbers +=
            terminal.coloured() ? terminal.cell(weight, cell - 1) + " " : fitted(fmt::format("{:.3f}", weight), cell);
      }
      out += names + "\n" + numbers + "\n";
    }
  }
  return without_blank_ends(out);
}

// A summary of the grid.
std::string summary(const ExplainScene& scene, const std::vector<Attended>& found, const Terminal& terminal) {
  std::map<std::string, int> heads_at;
  double special = 0;
  std::size_t strongest = 0;
  const auto top = [&](std::size_t h) { return found[h].most.empty() ? 0 : found[h].most[0].weight; };
  for (std::size_t h = 0; h < found.size(); ++h) {
    special += found[h].special / static_cast<double>(found.size());
    if (!found[h].most.empty()) ++heads_at[scene.key(found[h].most[0].key)];
    if (top(h) > top(strongest)) strongest = h;
  }
  std::vector<std::pair<std::string, int>> ranked(heads_at.begin(), heads_at.end());
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string often;
  for (std::size_t n = 0; n < std::min<std::size_t>(ranked.size(), 3); ++n)
    often += fmt::format("{}{} in {}", n == 0 ? "" : ", ", ranked[n].first, ranked[n].second);
  std::string out =
      terminal.sentence({{fmt::format("most attended over {}: {}", counted(std::ssize(found), "head"), often)}});
  if (top(strongest) > 0) {
    out +=
        terminal.sentence({{fmt::format("largest weight: {:.4f} on {} in {}", top(strongest),
                                        scene.key(found[strongest].most[0].key), to_string(scene.heads[strongest]))}});
  }
  if (const std::string names = special_names(scene); !names.empty() && !scene.look.special)
    out += terminal.note(fmt::format("on average {:.3f} goes to {}; --special shows them", special, names));
  return out;
}

constexpr std::string_view kAttentionCaution = "attention is where a head looks, not why";

void ExplainCommand::run(ThreadPool& pool) const {
  if (occurrence && !word) throw UsageError("--occurrence needs --word");
  const std::unique_ptr<AttentionTables> words = insight::merged_words(source.open({}, pool));
  const ExplainScene scene{*words, heads.chosen(*words), look};
  const Terminal terminal = Terminal::of_stdout();
  const char* const sides = heads.kind() == model::Kind::cross ? "from output words to source words; " : "";
  Json result = frame(scene, heads);
  std::string out;
  if (!word) {
    const std::vector<ExplainRow> rows = all_rows(scene, pool);
    if (rows.empty()) throw UsageError("the text has no words, only special tokens: --special shows them");
    result["rows"] = Json::array();
    for (const ExplainRow& row : rows) result["rows"].push_back(to_json(scene, row));
    out = to_text(scene, rows, terminal) +
          terminal.note(fmt::format("{}; {}{}", heads_in_words(scene, heads), sides, kAttentionCaution));
  } else {
    result["rows"] = Json::array();
    for (const std::int64_t one : chosen_words(scene, *word, occurrence)) {
      const std::vector<Attended> found = in_every_head(scene, one, pool);
      result["rows"].push_back(to_json(scene, one, found));
      out += terminal.sentence(
                 {{scene.query(one), Phrase::Style::bold}, {fmt::format("word {}", one), Phrase::Style::dim}}) +
             to_grid(scene, found, terminal) + summary(scene, found, terminal);
    }
    out += terminal.note(fmt::format("each head by itself; {}{}", sides, kAttentionCaution));
  }
  print(json ? as_line(result) : out);
}

}  // namespace

void add_explain(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<ExplainCommand>();
  CLI::App* command = app.add_subcommand("explain", "Show which words each word attends to most");
  options->source.add_to(*command, SourceOption::Takes::recordings, "TEXT,--text,-t");
  options->heads.add_to(*command);
  command->add_option("--word", options->word, "Word to show in all layers and heads: its text, or its number from 0")
      ->type_name("WORD");
  command->add_option("--occurrence", options->occurrence, "Occurrence of --word to show, from 1 (default: all)")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command->add_option("--top", options->look.top, "Number of words to show for each word")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--special", options->look.special, "Include special tokens such as [CLS] and <s>");
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
