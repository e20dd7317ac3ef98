// cli/weights.cc - attnscope weights: attention weights of a real model, as numbers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "command.h"
#include "json.h"
#include "model/generate.h"
#include "model/reading.h"
#include "table_file.h"
#include "terminal.h"

namespace attn::cli {

namespace {

struct Weights {
  ModelOption model;
  TextOption text;
  std::optional<std::string> pair, target;
  std::optional<std::int64_t> layer, head;
  std::string kind_name = "self";
  std::optional<std::string> json, csv, npy;  // a file, or empty: standard output

  void run(ThreadPool& pool) const;

 private:
  [[nodiscard]] model::Kind kind() const { return model::parse_kind(kind_name).value_or(model::Kind::self); }
  [[nodiscard]] model::Text text_for(const model::Reader& reader, ThreadPool& pool) const;
};

// Which tables: all layers or one, all heads or one.
struct Selection {
  model::Kind kind = model::Kind::self;
  std::vector<std::int64_t> layers, heads;
};

std::vector<std::int64_t> chosen(std::string_view what, std::optional<std::int64_t> one, std::int64_t count) {
  if (one && (*one < 0 || *one >= count)) {
    throw UsageError(
        fmt::format("there is no {} {}: this model's {}s count from 0 to {}", what, *one, what, count - 1));
  }
  std::vector<std::int64_t> all;
  for (std::int64_t i = one.value_or(0); i < (one ? *one + 1 : count); ++i) all.push_back(i);
  return all;
}

// In an encoder-decoder the second text is what the decoder says; where none is given, what it says by itself.
model::Text Weights::text_for(const model::Reader& reader, ThreadPool& pool) const {
  model::Text out{.text = text.read(), .pair = pair, .target = target};
  const model::Facts& facts = reader.model->facts();
  if (facts.form != model::Form::encoder_decoder) {
    if (kind() != model::Kind::self) throw UsageError("a " + facts.type + " has one kind of attention only: self");
    return out;
  }
  if (!out.target) std::swap(out.pair, out.target);
  if (!out.target && kind() != model::Kind::self) {
    const std::vector<std::int32_t> ids = reader.tokenizer.encode(out.text).ids();
    out.target =
        reader.tokenizer.decode(model::generate(*reader.model, ids, {.tokens = 64, .sampling = {}}, {.pool = pool}));
  }
  return out;
}

Json names_of(const std::vector<text::Token>& tokens) {
  Json names = Json::array();
  for (const text::Token& token : tokens) names.push_back(token.text);
  return names;
}

Json to_json(const nn::Matrix& table) {
  Json rows = Json::array();
  for (std::int64_t i = 0; i < table.rows(); ++i)
    rows.push_back(std::vector<float>(table.row(i), table.row(i) + table.columns()));
  return rows;
}

// Weights that are not numbers come from a model that is broken; nobody should draw them.
void check_numbers(const nn::Matrix& part, const model::Recording::Which& which) {
  for (std::int64_t i = 0; i < part.rows() * part.columns(); ++i) {
    if (std::isfinite(part.data()[i])) continue;
    throw std::runtime_error(fmt::format(
        "weights of layer {}, head {} are not numbers: the model's own weights are broken", which.layer, which.head));
  }
}

// [N, M] of one head, [H, N, M] of a layer, [L, H, N, M] of all.
Json to_json(const model::Reading& reading, const Selection& selection, const Weights& options, ThreadPool& pool) {
  Json layers = Json::array();
  for (const std::int64_t layer : selection.layers) {
    Json heads = Json::array();
    for (const std::int64_t head : selection.heads) {
      const model::Recording::Which which{selection.kind, layer, head, 0};
      const nn::Matrix table = reading.recording.weights(which, pool);
      check_numbers(table, which);
      heads.push_back(to_json(table));
    }
    layers.push_back(options.head ? std::move(heads[0]) : std::move(heads));
  }
  Json json = {{"kind", std::string(name_of(selection.kind))},
               {"layer", options.layer ? Json(*options.layer) : Json(nullptr)},
               {"head", options.head ? Json(*options.head) : Json(nullptr)},
               {"tokens", names_of(reading.queries(selection.kind))},
               {"keys", names_of(reading.keys(selection.kind))}};
  json["weights"] = options.layer ? std::move(layers[0]) : std::move(layers);
  return json;
}

// Rebuilds a table some rows at a time and hands them on with the number of the first: a long text's table is never
// there as a whole.
void each_part(const model::Recording& recording, const model::Recording::Which& which, ThreadPool& pool,
               const std::function<void(std::int64_t, const nn::Matrix&)>& take) {
  constexpr std::int64_t kFloats = std::int64_t{4} << 20;
  const auto [n, m] = recording.size(which.kind);
  const std::int64_t step = std::clamp<std::int64_t>(kFloats / m, 1, n);
  for (std::int64_t row = 0; row < n; row += step) {
    nn::Matrix part(std::min(step, n - row), m);
    recording.weights(which, {row, 0}, part.view(), pool);
    check_numbers(part, which);
    take(row, part);
  }
}

void write_npy(const std::string& file, const model::Reading& reading, const Selection& selection, ThreadPool& pool) {
  const auto [n, m] = reading.recording.size(selection.kind);
  std::vector<std::int64_t> shape;
  if (selection.layers.size() > 1) shape.push_back(static_cast<std::int64_t>(selection.layers.size()));
  if (selection.heads.size() > 1 || selection.layers.size() > 1)
    shape.push_back(static_cast<std::int64_t>(selection.heads.size()));
  shape.insert(shape.end(), {n, m});
  OutputFile out(file);
  out.write(npy_header(shape));
  for (const std::int64_t layer : selection.layers) {
    for (const std::int64_t head : selection.heads) {
      each_part(reading.recording, {selection.kind, layer, head, 0}, pool,
                [&](std::int64_t, const nn::Matrix& part) { out.write(bytes_of(part)); });
    }
  }
  out.commit();
}

void write_csv(const std::string& file, const model::Reading& reading, const model::Recording::Which& which,
               ThreadPool& pool) {
  OutputFile out(file);
  out.write(csv_header(reading.keys(which.kind)));
  each_part(reading.recording, which, pool, [&](std::int64_t row, const nn::Matrix& part) {
    out.write(csv_rows(part, std::span(reading.queries(which.kind)).subspan(static_cast<std::size_t>(row))));
  });
  out.commit();
}

// As much as the terminal has room for; the rest is counted.
std::string to_table(const model::Reading& reading, const model::Recording::Which& which, const Terminal& terminal,
                     ThreadPool& pool) {
  constexpr int kCell = 6;
  constexpr std::int64_t kMostRows = 200;
  const auto& queries = reading.queries(which.kind);
  const auto& keys = reading.keys(which.kind);
  const auto rows = std::min<std::int64_t>(std::ssize(queries), kMostRows);
  int label = 4;
  for (std::int64_t i = 0; i < rows; ++i) {
    label = std::max(label, columns_of(on_one_line(queries[static_cast<std::size_t>(i)].text)));
  }
  label = std::min(label, 16);
  const auto columns = std::min<std::int64_t>(std::ssize(keys), std::max(1, (terminal.width() - label - 1) / kCell));
  nn::Matrix part(rows, columns);
  reading.recording.weights(which, {}, part.view(), pool);
  check_numbers(part, which);

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
    out += terminal.dim(fmt::format("{} more columns and {} more rows are not shown; --csv, --json and --npy have all",
                                    std::ssize(keys) - columns, std::ssize(queries) - rows)) +
           "\n";
  }
  return out;
}

void Weights::run(ThreadPool& pool) const {
  const bool one_table = layer && head;
  if (npy && (npy->empty() || *npy == "-")) throw UsageError("--npy needs a file's name");
  if (json && csv && to_stdout(*json) && to_stdout(*csv))
    throw UsageError("--json and --csv cannot both go to standard output");
  if (!one_table && !json && !npy)
    throw UsageError("name one table with --layer and --head; --json and --npy take several");
  const model::Reader reader = model::Reader::load(model.folder());
  const model::Facts& facts = reader.model->facts();
  const bool decoder = facts.form == model::Form::encoder_decoder && kind() != model::Kind::self;
  const Selection selection{kind(), chosen("layer", layer, decoder ? facts.decoder_layers : facts.layers),
                            chosen("head", head, decoder ? facts.decoder_heads.heads : facts.heads.heads)};
  const model::Reading reading = model::read(reader, text_for(reader, pool), {}, pool);
  note_training_length(facts, std::ssize(reading.tokens));
  if (json) {
    OutputFile out(*json);
    out.write(as_line(to_json(reading, selection, *this, pool)));
    out.commit();
  }
  if (npy) write_npy(*npy, reading, selection, pool);
  if (!csv && (json || npy)) return;
  const model::Recording::Which which{kind(), layer.value_or(0), head.value_or(0), 0};
  if (csv) return write_csv(*csv, reading, which, pool);
  print(to_table(reading, which, Terminal::of_stdout(), pool));
}

}  // namespace

void add_weights(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<Weights>();
  CLI::App* command = app.add_subcommand("weights", "Attention weights of one head, or of all");
  options->model.add_to(*command);
  options->text.add_to(*command, "The text");
  command
      ->add_option("--pair", options->pair,
                   "A second text, for models that read pairs; of an encoder-decoder, what it says")
      ->type_name("TEXT");
  command->add_option("--target", options->target, "What an encoder-decoder says (default: what it says by itself)")
      ->type_name("TEXT")
      ->excludes("--pair");
  command->add_option("--layer", options->layer, "Layer, from 0")->type_name("L");
  command->add_option("--head", options->head, "Head, from 0")->type_name("H");
  command
      ->add_option("--kind", options->kind_name,
                   "self: of the text; of an encoder-decoder also decoder: of what it says; cross: between them")
      ->check(CLI::IsMember({"self", "cross", "decoder"}))
      ->capture_default_str();
  command->add_option("--json", options->json, "One line of JSON; without --head or --layer, of all")
      ->expected(0, 1)
      ->type_name("[FILE]");
  command->add_option("--csv", options->csv, "A table with the tokens as first row and column")
      ->expected(0, 1)
      ->type_name("[FILE]");
  command
      ->add_option("--npy", options->npy,
                   "float32 [N, M] for numpy; [H, N, M] and [L, H, N, M] without --head, --layer")
      ->type_name("FILE");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
