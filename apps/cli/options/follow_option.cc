#include "apps/cli/options/follow_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>

#include "apps/cli/options/view_option.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "figure/scene/attention_figures.h"
#include "figure/scene/label.h"
#include "figure/scene/named_tokens.h"
#include "insight/statistics/words_attended.h"

namespace attn::cli {

namespace {

using insight::Attended;

const std::vector<text::Token>& tokens_of(const Followed& found) { return found.tables.keys(insight::Kind::self); }

std::string name_of(const Followed& found, std::int64_t token) {
  return figure::visible(tokens_of(found)[static_cast<std::size_t>(token)].text);
}

Attended ranked(const Followed& found, std::int64_t row, std::int64_t top) {
  const std::vector<text::Token>& tokens = tokens_of(found);
  return insight::attended({found.numbers.row(row), tokens.size()}, tokens, {.top = top, .special = true});
}

// Each row divided by its sum.
nn::Matrix shares_of(const nn::Matrix& numbers) {
  nn::Matrix shares(numbers.rows(), numbers.columns());
  for (std::int64_t i = 0; i < numbers.rows(); ++i) {
    const double sum = std::accumulate(numbers.row(i), numbers.row(i) + numbers.columns(), 0.0);
    std::transform(numbers.row(i), numbers.row(i) + numbers.columns(), shares.row(i),
                   [&](float x) { return static_cast<float>(x / sum); });
  }
  return shares;
}

Json to_json(const Followed& found) {
  Json json = {{"layer", found.upper.layer}, {"tokens", texts_of(tokens_of(found))}, {"queries", found.upper.tokens}};
  json[found.name] = rows_of(found.numbers);
  if (!found.shares) json["share"] = rows_of(shares_of(found.numbers));
  return json;
}

// What the list leaves out; empty: nothing.
std::string remainder(const Followed& found, const Attended& most) {
  const std::int64_t left = std::ssize(tokens_of(found)) - std::ssize(most.most);
  if (left == 0) return "";
  return counted(left, "more token") + (found.shares ? fmt::format(", {:.4f} together", most.rest) : "");
}

std::string to_list(const Followed& found, std::int64_t row, std::int64_t top, const Terminal& terminal) {
  const Attended most = ranked(found, row, top);
  const std::int64_t token = found.upper.tokens[static_cast<std::size_t>(row)];
  std::string out = terminal.sentence(
      {{name_of(found, token), Phrase::Style::bold}, {fmt::format("token {}", token), Phrase::Style::dim}});
  int label = 4;
  for (const Attended::Share& share : most.most) label = std::max(label, columns_of(name_of(found, share.key)));
  constexpr int kShortest = 4, kBetween = 14;  // bar; with the weight
  const int number = static_cast<int>(std::to_string(tokens_of(found).size() - 1).size());
  label = std::min({label, 20, terminal.width() - number - kBetween - kShortest});
  const int bar = std::min(terminal.width() - label - number - kBetween, 40);
  const double largest = most.most.empty() ? 0 : most.most.front().weight;
  for (const auto& [key, weight] : most.most) {
    out +=
        fmt::format("  {}  {}  {:.4f}  {}\n", terminal.dim(right(std::to_string(key), number)),
                    fitted(name_of(found, key), label), weight, terminal.bar(largest > 0 ? weight / largest : 0, bar));
  }
  if (const std::string rest = remainder(found, most); !rest.empty())
    out += "  " + terminal.sentence({{rest, Phrase::Style::dim}}, 2);
  return without_blank_ends(out);
}

// Many layers have so many paths that nearly all of every token gets through, and the bars hardly differ.
bool nearly_alike(const Followed& found, std::int64_t top) {
  if (found.shares || found.upper.layer <= 2) return false;
  for (std::int64_t row = 0; row < found.numbers.rows(); ++row) {
    const Attended most = ranked(found, row, top);
    if (most.most.size() < 2 || most.most.back().weight <= most.most.front().weight / 2) return false;
  }
  return true;
}

figure::Bars to_bars(const Followed& found, std::int64_t top) {
  figure::Bars bars{
      .bars = {},
      .title = fmt::format("Attention {} of {} through {}", found.name, name_of(found, found.upper.tokens[0]),
                           figure::layers_up_to(found.upper.layer)),
      .x_label = found.measure,
      .caption = ""};
  const Attended most = ranked(found, 0, top);
  for (const auto& [key, weight] : most.most)
    bars.bars.push_back({fmt::format("{} {}", key, name_of(found, key)), weight});
  bars.caption = remainder(found, most);
  return bars;
}

}  // namespace

void FollowOption::add_to(CLI::App& command) {
  source.add_to(command, SourceOption::Takes::tables);
  command.add_option("--token", tokens, "Token to follow: its text (all that match), or its number from 0")
      ->expected(1)
      ->take_all()
      ->type_name("TOKEN");
  command.add_option("--layer", layer, "Last layer to include, from 0 (default: all layers)")->type_name("L");
  command.add_option("--top", top, "Number of tokens of the text to list")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--json", json, "Print one line of JSON");
  figure.add_to(command, {.reduce = false});
}

insight::UpperTokens FollowOption::upper(const insight::AttentionTables& tables) const {
  const insight::AttentionStack& all = tables.stack(insight::Kind::self);
  insight::UpperTokens upper{layer.value_or(all.layers - 1), {}};
  for (const std::string& name : tokens) {
    const auto& all_tokens = tables.queries(insight::Kind::self);
    for (const std::int64_t token : or_usage([&] { return figure::named_tokens(all_tokens, name); })) {
      if (std::ranges::find(upper.tokens, token) == upper.tokens.end()) upper.tokens.push_back(token);
    }
  }
  if (tokens.empty()) {
    upper.tokens.resize(static_cast<std::size_t>(all.queries));
    std::iota(upper.tokens.begin(), upper.tokens.end(), std::int64_t{0});
  }
  or_usage([&] { check(tables, upper); });
  return upper;
}

void FollowOption::show(const Followed& found) const {
  if (json) print(as_line(to_json(found)));
  if (json && figure.file.empty()) return;
  if (!tokens.empty() && figure.file.empty()) {
    const Terminal terminal = Terminal::of_stdout();
    std::string out;
    for (std::int64_t row = 0; row < found.numbers.rows(); ++row) out += to_list(found, row, top, terminal);
    out += terminal.note(fmt::format("{} through {}", found.name, figure::layers_up_to(found.upper.layer)));
    if (nearly_alike(found, top)) out += terminal.note("through many layers most flows are close to 1; try --layer 2");
    return print(out);
  }
  if (found.numbers.rows() == 1 && !tokens.empty()) {
    figure::Bars bars = to_bars(found, top);
    figure.dress(bars);
    return figure.write(std::move(bars));
  }
  figure::Heatmap map = figure::followed_of(found.tables, {found.upper, found.numbers, found.name, found.measure});
  figure.dress(map);
  figure.write(std::move(map));
}

}  // namespace attn::cli
