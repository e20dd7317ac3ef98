// apps/cli/commands/tour.cc - attnscope tour: what the engine does, on one or two screens.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/output/terminal.h"
#include "attn/attn.h"

namespace attn::cli {
namespace {

void heading(std::ostream& out, const Terminal& terminal, std::string_view title) {
  out << "\n  " << terminal.bold(title) << "\n  " << terminal.line() << "\n";
}

// A blank line, then text wrapped between words; ASCII only.
void paragraph(std::ostream& out, const Terminal& terminal, std::string_view text) {
  const auto room = static_cast<std::size_t>(terminal.width() - 4);
  out << "\n";
  while (text.size() > room) {
    const std::size_t space = text.rfind(' ', room);
    out << "  " << text.substr(0, space) << "\n";
    text.remove_prefix(space + 1);
  }
  out << "  " << text << "\n";
}

// Two blocks of lines side by side if they fit, else one below the other.
struct Paragraph {
  int width;
  std::vector<std::string> lines;
};
void beside(std::ostream& out, const Terminal& terminal, const Paragraph& first, const Paragraph& second) {
  constexpr int kGap = 3;
  const bool fits = 2 + first.width + kGap + second.width <= terminal.width();
  const std::size_t count = fits ? std::max(first.lines.size(), second.lines.size()) : first.lines.size();
  for (std::size_t n = 0; n < count; ++n) {
    out << "  " << (n < first.lines.size() ? first.lines[n] : repeat(" ", first.width));
    if (fits && n < second.lines.size() && !second.lines[n].empty()) out << repeat(" ", kGap) << second.lines[n];
    out << "\n";
  }
  if (fits) return;
  if (!second.lines.front().empty()) out << "\n";
  for (const std::string& line : second.lines) out << (line.empty() ? "" : "  ") << line << "\n";
}

void by_hand(std::ostream& out, const Terminal& terminal, ThreadPool& pool) {
  std::array<float, 2> q = {1, 0};
  std::array<float, 6> k = {1, 0, 0, 1, 1, 0};
  std::array<float, 6> v = {10, 0, 0, 20, 30, 0};
  std::array<float, 2> result{};
  std::array<float, 3> weights{};
  const View<float, 4> queries(q.data(), {1, 1, 1, 2}), keys(k.data(), {1, 1, 3, 2}), values(v.data(), {1, 1, 3, 2});
  const View<float, 4> output(result.data(), {1, 1, 1, 2}), table(weights.data(), {1, 1, 1, 3});
  attention({queries, keys, values}, {}, output, {}, table, pool);

  heading(out, terminal, "A query asks, three keys answer");
  const int bar = std::clamp(terminal.width() - 42, 8, 22);
  out << "  query [1 0]\n\n" << terminal.dim("     key    score   " + left("weight", bar + 9) + "value") << "\n";
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double score = (q[0] * k[2 * j] + q[1] * k[2 * j + 1]) / std::sqrt(2.0);
    out << "    [" << k[2 * j] << " " << k[2 * j + 1] << "]  " << right(number(score, 3), 6) << "   "
        << number(weights[j], 4) << " " << terminal.bar(weights[j] * 2, bar) << " [" << right(number(v[2 * j], 0), 2)
        << " " << right(number(v[2 * j + 1], 0), 2) << "]\n";
  }
  out << "\n  output = sum of weight x value = "
      << terminal.bold("[" + number(result[0], 2) + "  " + number(result[1], 3) + "]") << "\n";
}

void sentence(std::ostream& out, const Terminal& terminal, ThreadPool& pool) {
  constexpr std::int64_t kWords = 6, kWidth = 4;
  constexpr std::array<std::string_view, kWords> kText = {"The", "cat", "sat", "on", "the", "mat"};
  // The four axes: article, noun, verb, place. What a word offers, and what it looks for.
  std::vector<float> offers = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0};
  std::vector<float> wants = {0, 5, 0, 0, 2, 0, 5, 0, 0, 5, 0, 3, 0, 5, 6, 0, 0, 6, 0, 0, 3, 0, 0, 6};
  // Near words count for more: the bias falls by half a point per word.
  std::vector<float> nearness;
  for (std::int64_t distance = 1 - kWords; distance < kWords; ++distance)
    nearness.push_back(-0.5F * static_cast<float>(std::abs(distance)));

  const Shape<4> shape = {1, 1, kWords, kWidth};
  const View<float, 4> keys(offers.data(), shape), queries(wants.data(), shape);
  std::vector<float> mixed(kWords * kWidth), lse(kWords), table(kWords * kWords);
  Options options;
  options.bias = View<const float, 2>(nearness.data(), {1, 2 * kWords - 1});
  const Inputs in{queries, keys, keys};
  attention(in, options, {mixed.data(), shape}, {lse.data(), {1, 1, kWords}}, pool);
  const View<float, 4> rebuilt(table.data(), {1, 1, kWords, kWords});
  weights(in, options, View<float, 3>(lse.data(), {1, 1, kWords}), {}, rebuilt, pool);

  heading(out, terminal, "A sentence looks at itself");
  constexpr int kCell = 6;
  Paragraph picture{6 + kWords * kCell, {repeat(" ", 6)}};
  Paragraph words{26, {terminal.dim("each looks most of all at")}};
  for (const std::string_view word : kText) picture.lines[0] += left(" " + std::string(word), kCell);
  for (std::int64_t i = 0; i < kWords; ++i) {
    std::string row = right(kText[i], 4) + "  ";
    for (std::int64_t j = 0; j < kWords; ++j) row += terminal.cell(rebuilt(0, 0, i, j), kCell);
    picture.lines.push_back(row);
    const float* first = rebuilt.at(0, 0, i);
    const std::int64_t top = std::max_element(first, first + kWords) - first;
    words.lines.push_back(left(kText[i], 3) + " -> " + left(kText[top], 5) + number(first[top], 3));
  }
  beside(out, terminal, picture, words);
  if (!terminal.coloured())
    out << "\n        " << terminal.dim("· < .03 <= ░ < .15 <= ▒ < .35 <= ▓ < .60 <= █") << "\n";
  paragraph(
      out, terminal,
      "The weights were never stored: each was rebuilt from q, k and one number per row, lse = log sum exp(score), as "
      "exp(score - lse).");
}

void masks(std::ostream& out, const Terminal& terminal) {
  constexpr std::int64_t kSmall = 16, kLarge = 4096;
  const Mask mask = parse_mask("causal & window(4)");
  const Mask wide = parse_mask("causal & window(256)");
  const TilePlan plan(wide, {1, 1, kLarge, kLarge});

  heading(out, terminal, "A mask is a value, and is compiled into tiles");
  Paragraph picture{2 * kSmall, {}};
  for (std::int64_t i = 0; i < kSmall; ++i) {
    std::string row;
    for (std::int64_t j = 0; j < kSmall; ++j) row += terminal.pair(mask.allows(0, 0, i, j));
    picture.lines.push_back(row);
  }

  const std::int64_t visited = plan.full_tiles() + plan.partial_tiles();
  const double share = static_cast<double>(visited) / static_cast<double>(visited + plan.skipped_tiles());
  const auto tiles = [&](std::string_view kind, std::int64_t count, std::string_view what) {
    return left(kind, 8) + right(grouped(count), 7) + "   " + terminal.dim(what);
  };
  const Paragraph words{
      42,
      {"", terminal.bold(mask.text()), terminal.dim("16 queries down, 16 keys across"), "",
       terminal.bold(wide.text()) + " on 4,096 tokens", "",
       terminal.dim("tiles of " + std::to_string(kTileRows) + " queries x " + std::to_string(kTileKeys) + " keys"),
       tiles("full", plan.full_tiles(), "run without a mask"),
       tiles("partial", plan.partial_tiles(), "carry their bits"),
       tiles("skipped", plan.skipped_tiles(), "cost nothing"), "",
       number(100 * share, 1) + " % of the tiles are visited"}};
  beside(out, terminal, picture, words);
}

void speed(std::ostream& out, const Terminal& terminal, ThreadPool& pool) {
  constexpr std::int64_t kHeads = 8, kTokens = 1024, kWidth = 64;
  constexpr std::int64_t kCount = kHeads * kTokens * kWidth;
  using Clock = std::chrono::steady_clock;
  const Shape<4> shape = {1, kHeads, kTokens, kWidth};
  std::vector<float> q(kCount), k(kCount), v(kCount), result(kCount);
  for (std::size_t n = 0; n < q.size(); ++n) {
    q[n] = std::sin(0.37F * static_cast<float>(n));
    k[n] = std::cos(0.73F * static_cast<float>(n));
    v[n] = std::sin(0.11F * static_cast<float>(n));
  }
  const Inputs in{View<float, 4>(q.data(), shape), View<float, 4>(k.data(), shape), View<float, 4>(v.data(), shape)};

  heading(out, terminal, "Speed");
  out << "  8 heads, 1,024 tokens, width 64, float32, " << pool.threads()
      << (pool.threads() == 1 ? " thread" : " threads") << "\n\n";
  for (const char* text : {"everything", "causal", "causal & window(128)"}) {
    Options options;
    options.mask = parse_mask(text);
    attention(in, options, {result.data(), shape}, {}, pool);  // wakes the worker threads, touches the memory
    std::vector<double> seconds;
    const auto end = Clock::now() + std::chrono::milliseconds(300);
    while (seconds.size() < 3 || Clock::now() < end) {
      const auto start = Clock::now();
      attention(in, options, {result.data(), shape}, {}, pool);
      seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    const double median = seconds[seconds.size() / 2];
    const TilePlan plan(options.mask, {1, kHeads, kTokens, kTokens});
    const double flops = 4.0 * static_cast<double>(plan.pairs()) * kWidth;  // q k and p v, two each, visible pairs only
    out << "  " << left(text, 22) << terminal.bold(right(number(median * 1e3, 2), 7) + " ms") << "   "
        << right(number(flops / median * 1e-9, 0), 4) << " GFLOP/s\n";
  }
  const double table = 4e-6 * kHeads * kTokens * kTokens, kept = 4e-3 * kHeads * kTokens;
  paragraph(out, terminal,
            "The weights would take " + number(table, 1) + " MB; what is kept of them, one number per row, takes " +
                number(kept, 1) + " kB.");
}

void run_tour(ThreadPool& pool) {
  const auto terminal = Terminal::of_stdout();
  std::cout << "\n  " << terminal.bold("attnscope " ATTNSCOPE_VERSION) << "   attention, exact and never stored\n";
  by_hand(std::cout, terminal, pool);
  sentence(std::cout, terminal, pool);
  masks(std::cout, terminal);
  std::cout.flush();
  speed(std::cout, terminal, pool);
  std::cout << "\n" << std::flush;
  if (!std::cout) throw std::runtime_error("the output could not be written");
}

}  // namespace

void add_tour(CLI::App& app, Shell& shell) {
  app.add_subcommand("tour", "Show what the engine does: weights, a mask and its tiles, speed (takes two seconds)")
      ->callback([&shell] { run_tour(shell.pool()); });
}

}  // namespace attn::cli
