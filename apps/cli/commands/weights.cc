// apps/cli/commands/weights.cc - attnscope weights: attention weights as numbers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/output_file.h"
#include "apps/cli/output/terminal.h"
#include "insight/io/table_text.h"
#include "insight/tables/attention_tables.h"

namespace attn::cli {

namespace {

using insight::AttentionTables;
using insight::HeadId;

struct WeightsCommand {
  SourceOption source;
  HeadOption heads;
  std::optional<std::string> json, csv, npy;  // file name; empty: standard output

  void run(ThreadPool& pool) const;
};

// "weights" is [N, M] for one head, [H, N, M] for a layer, [L, H, N, M] for all.
Json to_json(const AttentionTables& tables, const HeadOption& option, ThreadPool& pool) {
  Json layers = Json::array();
  std::int64_t last = -1;
  for (const HeadId& head : option.chosen(tables)) {
    const nn::Matrix table = tables.weights(head, pool);
    insight::check_numbers(table, head);
    if (std::exchange(last, head.layer) != head.layer) layers.push_back(Json::array());
    if (option.head) {
      layers.back() = rows_of(table);
    } else {
      layers.back().push_back(rows_of(table));
    }
  }
  Json json = {{"kind", option.kind_name},
               {"layer", option.layer ? Json(*option.layer) : Json(nullptr)},
               {"head", option.head ? Json(*option.head) : Json(nullptr)},
               {"tokens", texts_of(tables.queries(option.kind()))},
               {"keys", texts_of(tables.keys(option.kind()))}};
  json["weights"] = option.layer ? std::move(layers[0]) : std::move(layers);
  return json;
}

void write_npy(const std::string& file, const AttentionTables& tables, const HeadOption& option, ThreadPool& pool) {
  const insight::AttentionStack& all = tables.stack(option.kind());
  const std::int64_t layers = option.layer ? 1 : all.layers, heads = option.head ? 1 : all.heads;
  std::vector<std::int64_t> shape;
  if (layers > 1) shape.push_back(layers);
  if (heads > 1 || layers > 1) shape.push_back(heads);
  shape.insert(shape.end(), {all.queries, all.keys});
  OutputFile out(file);
  out.write(insight::npy_header(shape));
  for (const HeadId& head : option.chosen(tables))
    insight::each_strip(tables, head, pool,
                        [&](std::int64_t, const nn::Matrix& part) { out.write(insight::bytes_of(part)); });
  out.commit();
}

void write_csv(const std::string& file, const AttentionTables& tables, const HeadId& head, ThreadPool& pool) {
  OutputFile out(file);
  insight::write_table(tables, head, insight::TableFormat::csv, pool,
                       [&](std::string_view bytes) { out.write(bytes); });
  out.commit();
}

// As much of the table as the terminal's width allows, and a note that counts the rest.
std::string to_table(const AttentionTables& tables, const HeadId& head, const Terminal& terminal, ThreadPool& pool) {
  constexpr int kCell = 6;
  constexpr std::int64_t kMostRows = 200;
  const auto& queries = tables.queries(head.kind);
  const auto& keys = tables.keys(head.kind);
  const auto rows = std::min<std::int64_t>(std::ssize(queries), kMostRows);
  int label = 4;
  for (std::int64_t i = 0; i < rows; ++i) {
    label = std::max(label, columns_of(on_one_line(queries[static_cast<std::size_t>(i)].text)));
  }
  label = std::min(label, 16);
  const auto columns = std::min<std::int64_t>(std::ssize(keys), std::max(1, (terminal.width() - label - 1) / kCell));
  nn::Matrix part(rows, columns);
  tables.weights(head, {}, part.view(), pool);
  insight::check_numbers(part, head);

  std::string out(static_cast<std::size_t>(label) + 1, ' ');
  for (std::int64_t j = 0; j < columns; ++j) {
    out += terminal.dim(fitted(on_one_line(keys[static_cast<std::size_t>(j)].text), kCell - 1)) + " ";
  }
  out += "\n";
  for (std::int64_t i = 0; i < rows; ++i) {
    out += terminal.bold(fitted(on_one_line(queries[static_cast<std::size_t>(i)].text), label, true)) + " ";
    for (std::int64_t j = 0; j < columns; ++j) {
      const double weight = part.row(i)[j];
      out += terminal.coloured() ? terminal.cell(weight, kCell) : fmt::format("{:.3f} ", weight);
    }
    out += "\n";
  }
  if (columns < std::ssize(keys) || rows < std::ssize(queries)) {
    out += terminal.note(fmt::format("{} and {} not shown; --csv, --json and --npy write all",
                                     counted(std::ssize(keys) - columns, "more column"),
                                     counted(std::ssize(queries) - rows, "more row")));
  }
  if (head.kind == model::Kind::cross)
    out += terminal.note("rows: tokens of the output; columns: tokens of the source");
  return without_blank_ends(out);
}

void WeightsCommand::run(ThreadPool& pool) const {
  if (npy && to_stdout(*npy)) throw UsageError("--npy needs a file name");
  if (json && csv && to_stdout(*json) && to_stdout(*csv))
    throw UsageError("--json and --csv cannot both go to standard output");
  const std::unique_ptr<AttentionTables> tables = source.open({}, pool);
  static_cast<void>(heads.chosen(*tables));  // throws before a file is opened
  const bool one_more = csv || !(json || npy);
  const std::optional<HeadId> one = one_more ? std::optional(heads.one(*tables)) : std::nullopt;
  if (json) {
    OutputFile out(*json);
    out.write(as_line(to_json(*tables, heads, pool)));
    out.commit();
  }
  if (npy) write_npy(*npy, *tables, heads, pool);
  if (csv) return write_csv(*csv, *tables, *one, pool);
  if (one) print(to_table(*tables, *one, Terminal::of_stdout(), pool));
}

}  // namespace

void add_weights(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<WeightsCommand>();
  CLI::App* command = app.add_subcommand("weights", "Print or save the attention weights of one head or of all");
  options->source.add_to(*command, SourceOption::Takes::tables);
  options->heads.add_to(*command);
  command->add_option("--json", options->json, "Write one line of JSON; without --head or --layer, for all of them")
      ->expected(0, 1)
      ->type_name("[FILE]");
  command->add_option("--csv", options->csv, "Write a table with the tokens as first row and column")
      ->expected(0, 1)
      ->type_name("[FILE]");
  command
      ->add_option("--npy", options->npy,
                   "File to write for numpy: float32 [N, M]; [H, N, M] without --head, [L, H, N, M] without --layer")
      ->type_name("FILE");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
