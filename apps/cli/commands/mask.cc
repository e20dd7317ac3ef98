// apps/cli/commands/mask.cc - attnscope mask: which query may see which key, as a figure and a count.
#include "attn/mask.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/options/figure_option.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "insight/statistics/mask_facts.h"

namespace attn::cli {

namespace {

constexpr std::int64_t kMostTokens = 4096;

struct MaskCommand {
  std::string text;
  Shape<2> size = {16, 16};
  FigureOption figure;
  bool json = false;

  void run() const;
};

// "16": 16 queries and as many keys; "8x16": 8 queries, 16 keys.
Shape<2> parse_size(const std::string& text) {
  const std::size_t by = text.find('x');
  Shape<2> size{};
  const std::string first = text.substr(0, by);
  const bool good = CLI::detail::lexical_cast(first, size[0]) &&
                    CLI::detail::lexical_cast(by == std::string::npos ? first : text.substr(by + 1), size[1]);
  for (const std::int64_t count : size) {
    if (!good || count < 1 || count > kMostTokens) {
      throw CLI::ValidationError(
          "--size", fmt::format("'{}' is not a size; write 16, or 8x16 for 8 queries and 16 keys, at most {}", text,
                                kMostTokens));
    }
  }
  return size;
}

// Throws UsageError for a mask that does not parse, or whose lengths or tables do not fit the size.
Mask mask_of(const std::string& text, Shape<2> size) {
  return or_usage([&] {
    Mask mask = parse_mask(text);
    mask.check({1, 1, size[0], size[1]});
    return mask;
  });
}

Json to_json(const figure::MaskPicture& picture, const std::string& text, std::int64_t pairs) {
  Json rows = Json::array();
  for (std::int64_t i = 0; i < picture.rows; ++i) {
    const auto first = picture.seen.begin() + i * picture.columns;
    rows.push_back(std::vector<int>(first, first + picture.columns));
  }
  return {{"mask", text},
          {"queries", picture.rows},
          {"keys", picture.columns},
          {"pairs", pairs},
          {"density", static_cast<float>(pairs) / static_cast<float>(picture.rows * picture.columns)},
          {"rows", std::move(rows)}};
}

void MaskCommand::run() const {
  const Mask mask = mask_of(text, size);
  figure::MaskPicture picture{.rows = size[0],
                              .columns = size[1],
                              .seen = insight::seen_pairs(mask, size[0], size[1]),
                              .row_labels = {},
                              .column_labels = {},
                              .title = mask.text(),
                              .caption = ""};
  const std::int64_t pairs = std::count(picture.seen.begin(), picture.seen.end(), true), all = size[0] * size[1];
  if (json) print(as_line(to_json(picture, mask.text(), pairs)));
  if (json && figure.file.empty()) return;
  picture.caption = fmt::format("{} of {} pairs are seen, {:.1f} %.", grouped(pairs), grouped(all),
                                100.0 * static_cast<double>(pairs) / static_cast<double>(all));
  figure.dress(picture);
  figure.write(picture);
}

}  // namespace

void add_mask(CLI::App& app, Shell&) {
  auto options = std::make_shared<MaskCommand>();
  CLI::App* command = app.add_subcommand("mask", "Draw which query may see which key, and count the pairs");
  command->add_option("mask", options->text, "Mask to draw, such as \"causal & window(4)\"; see docs/masks.md")
      ->required()
      ->type_name("MASK");
  command
      ->add_option_function<std::string>(
          "--size", [options](const std::string& text) { options->size = parse_size(text); },
          "Number of tokens; 8x16: 8 queries, 16 keys")
      ->type_name("N|NxM")
      ->default_str("16");
  options->figure.add_to(*command, {.colours = false, .bar = false, .values = false, .reduce = false});
  command->add_flag("--json", options->json, "Print the mask as one line of JSON: rows of 0 and 1");
  command->callback([options] { options->run(); });
}

}  // namespace attn::cli
