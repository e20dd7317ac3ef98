#include "text/datasets/data_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/error.h"
#include "base/hash.h"
#include "base/json_file.h"
#include "base/read_file.h"
#include "base/utf8.h"

namespace attn::text {

namespace {

constexpr std::array<std::string_view, 4> kTextNames = {"text", "review", "sentence", "content"};
constexpr std::array<std::string_view, 5> kLabelNames = {"label", "sentiment", "class", "category", "target"};
constexpr std::array<std::string_view, 2> kTranslationNames = {"target", "translation"};
constexpr int kLooked = 100;  // lines that are sampled to find the longest column

// Judged by the first lines; `names` is the number of cells in the header line.
std::size_t longest_column(base::CsvLines lines, std::size_t names) {
  std::vector<std::size_t> bytes(names);
  std::vector<std::string> cells;
  for (int n = 0; n < kLooked && lines.next(cells); ++n) {
    for (std::size_t c = 0; c < std::min(names, cells.size()); ++c) bytes[c] += cells[c].size();
  }
  return static_cast<std::size_t>(std::ranges::max_element(bytes) - bytes.begin());
}

std::string text_of(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) throw Error(file.string(), "cannot be read: it is not a file");
  return base::read_file(file);
}

template <typename Names>
std::string listed(const Names& names, std::string_view last = ", ") {
  std::string all;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    all += i == 0 ? "" : i + 1 == std::size(names) ? last : ", ";
    all += names[i];
  }
  return all;
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::optional<std::size_t> place_of(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::optional<std::size_t> place_of(const std::vector<std::string>& names, std::span<const std::string_view> usual) {
  for (const std::string_view name : usual) {
    if (const auto place = place_of(names, name)) return place;
  }
  return std::nullopt;
}

}  // namespace

DataSet::DataSet(const std::filesystem::path& file, Wanted wanted, const ExampleColumns& columns)
    : path_(file.string()),
      wanted_(wanted),
      text_(text_of(file)),
      key_(columns.text.value_or("text")),
      label_key_(columns.label),
      csv_(text_, path_, file.extension() == ".tsv" ? '\t' : ',') {
  const std::string end = file.extension().string();
  format_ = end == ".csv" || end == ".tsv" ? Format::csv : end == ".jsonl" ? Format::jsonl : Format::lines;
  if (format_ == Format::lines && (columns.text || columns.label)) {
    throw Error(path_, "has no columns; only .csv, .tsv and .jsonl files do");
  }
  if (format_ == Format::lines && wanted != Wanted::text) {
    throw Error(path_, std::string("has no ") + label_word() + "s; only .csv, .tsv and .jsonl files do");
  }
  if (has_names()) find_columns(columns);
}

std::span<const std::string_view> DataSet::label_names() const noexcept {
  if (wanted_ == Wanted::translation) return kTranslationNames;
  return kLabelNames;
}

const char* DataSet::label_word() const noexcept { return wanted_ == Wanted::translation ? "translation" : "label"; }

void DataSet::find_columns(const ExampleColumns& asked) {
  Names names;
  if (!csv_.next(names)) throw Error(path_, "is empty");
  column_ = text_column(names, asked.text);
  if (wanted_ == Wanted::text) return;
  label_column_ = label_column(names, asked.label);
  if (column_ == label_column_) {
    throw Error(path_, "text and " + std::string(label_word()) + " are both in column '" + names[column_] + "'");
  }
}

std::size_t DataSet::asked_column(const Names& names, const std::string& name) const {
  if (const auto place = place_of(names, name)) return *place;
  throw Error(path_, "has no column '" + name + "', only: " + listed(names));
}

std::size_t DataSet::text_column(const Names& names, const std::optional<std::string>& asked) const {
  if (asked) return asked_column(names, *asked);
  if (const auto usual = place_of(names, kTextNames)) return *usual;
  if (wanted_ == Wanted::translation) {
    if (const auto source = place_of(names, "source")) return *source;
    if (names.size() == 2) return 0;
  }
  return longest_column(csv_, names.size());
}

std::size_t DataSet::label_column(const Names& names, const std::optional<std::string>& asked) const {
  if (asked) return asked_column(names, *asked);
  if (const auto usual = place_of(names, label_names())) return *usual;
  if (wanted_ == Wanted::translation && names.size() == 2) return 1;
  throw Error(path_, "has no column named " + listed(label_names(), " or ") + ", only: " + listed(names));
}

std::optional<std::string> DataSet::next() {
  std::optional<Example> example = next_example();
  if (!example) return std::nullopt;
  return std::move(example->text);
}

std::optional<Example> DataSet::next_example() {
  std::optional<Example> example;
  if (format_ == Format::lines) {
    if (auto text = next_line()) example = {std::move(*text), ""};
  } else {
    example = has_names() ? next_row() : next_object();
  }
  if (example && (base::first_bad_byte(example->text) || base::first_bad_byte(example->label))) {
    throw Error(path_, "line " + std::to_string(line()) + " is not UTF-8");
  }
  return example;
}

std::optional<std::string> DataSet::next_line() {
  if (at_ >= text_.size()) return std::nullopt;
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string line = text_.substr(at_, end - at_);
  if (line.ends_with('\r')) line.pop_back();
  at_ = end + 1;
  ++line_;
  return line;
}

std::optional<Example> DataSet::next_row() {
  std::vector<std::string> cells;
  if (!csv_.next(cells)) return std::nullopt;
  const auto take = [&](std::size_t column, const std::string& what) {
    if (cells.size() > column) return std::move(cells[column]);
    csv_.fail(csv_.line(), " has " + std::to_string(cells.size()) + " cells, but the " + what + " is in number " +
                               std::to_string(column + 1));
  };
  Example example{take(column_, "text"), ""};
  if (wanted_ != Wanted::text) example.label = take(label_column_, label_word());
  return example;
}

std::optional<Example> DataSet::next_object() {
  std::optional<std::string> line = next_line();
  while (line && line->find_first_not_of(" \t") == std::string::npos) line = next_line();  // blank
  if (!line) return std::nullopt;
  const std::string here = "line " + std::to_string(line_);
  const nlohmann::json object = base::parse_json(*line, path_ + ", " + here);
  if (!object.is_object()) throw Error(path_, here + " is not a JSON object");
  const auto found = object.find(key_);
  if (found == object.end() || !found->is_string()) {
    throw Error(path_, here + " has no text under \"" + key_ + "\", only: " + listed(keys_of(object)));
  }
  Example example{found->get<std::string>(), ""};
  if (wanted_ == Wanted::text) return example;
  if (!label_key_) {
    const Names keys = keys_of(object);
    const auto usual = place_of(keys, label_names());
    if (!usual) throw Error(path_, here + " has no " + listed(label_names(), " or ") + ", only: " + listed(keys));
    label_key_ = keys[*usual];
  }
  const auto label = object.find(*label_key_);
  if (label == object.end() || label->is_null() || label->is_structured()) {
    throw Error(path_, here + " has no " + label_word() + " under \"" + *label_key_ + "\"");
  }
  example.label = label->is_string() ? label->get<std::string>() : label->dump();
  return example;
}

double DataSet::share() const noexcept {
  const std::size_t at = has_names() ? csv_.at() : at_;
  return text_.empty() ? 1 : static_cast<double>(std::min(at, text_.size())) / static_cast<double>(text_.size());
}

std::uint64_t DataSet::fingerprint() const noexcept { return base::hash_of(text_); }

}  // namespace attn::text
