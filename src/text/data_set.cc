#include "text/data_set.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "attn/error.h"
#include "text/json_file.h"
#include "text/utf8.h"

namespace attn::text {

namespace {

constexpr std::array<std::string_view, 4> kUsualNames = {"text", "review", "sentence", "content"};
constexpr int kLooked = 100;  // lines of a table that tell which column is the longest

// Of the first lines; `names` are the cells of the line before them.
std::size_t longest_column(CsvLines lines, std::size_t names) {
  std::vector<std::size_t> bytes(names);
  std::vector<std::string> cells;
  for (int n = 0; n < kLooked && lines.next(cells); ++n) {
    for (std::size_t c = 0; c < std::min(names, cells.size()); ++c) bytes[c] += cells[c].size();
  }
  return static_cast<std::size_t>(std::ranges::max_element(bytes) - bytes.begin());
}

std::string text_of(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) throw Error(file.string(), "cannot be read: it is not a file");
  return read_file(file);
}

}  // namespace

DataSet::DataSet(const std::filesystem::path& file, const std::optional<std::string>& column)
    : path_(file.string()), text_(text_of(file)), key_(column.value_or("text")), csv_(text_, path_) {
  const std::string end = file.extension().string();
  format_ = end == ".csv" ? Format::csv : end == ".jsonl" ? Format::jsonl : Format::lines;
  if (format_ == Format::lines && column) throw Error(path_, "has no columns: only .csv and .jsonl have");
  if (format_ == Format::csv) find_column(column);
}

void DataSet::find_column(const std::optional<std::string>& asked) {
  std::vector<std::string> names;
  if (!csv_.next(names)) throw Error(path_, "is empty");
  const auto find = [&](std::string_view name) { return std::ranges::find(names, name); };
  auto found = names.end();
  if (asked) {
    found = find(*asked);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    if (found == names.end()) throw Error(path_, "has no column '" + *asked + "', only: " + all);
  }
  for (const std::string_view name : kUsualNames) {
    if (found == names.end()) found = find(name);
  }
  column_ = found != names.end() ? static_cast<std::size_t>(found - names.begin()) : longest_column(csv_, names.size());
}

std::optional<std::string> DataSet::next() {
  std::optional<std::string> text = format_ == Format::csv     ? next_cell()
                                    : format_ == Format::jsonl ? next_object()
                                                               : next_line();
  if (text && first_bad_byte(*text)) {
    throw Error(path_, "line " + std::to_string(format_ == Format::csv ? csv_.line() : line_) + " is not UTF-8");
  }
  return text;
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

std::optional<std::string> DataSet::next_cell() {
  std::vector<std::string> cells;
  if (!csv_.next(cells)) return std::nullopt;
  if (cells.size() <= column_) {
    csv_.fail(csv_.line(),
              " has " + std::to_string(cells.size()) + " cells; the text is in number " + std::to_string(column_ + 1));
  }
  return std::move(cells[column_]);
}

std::optional<std::string> DataSet::next_object() {
  std::optional<std::string> line = next_line();
  while (line && line->find_first_not_of(" \t") == std::string::npos) line = next_line();  // blank
  if (!line) return std::nullopt;
  const nlohmann::json object = nlohmann::json::parse(*line, nullptr, false);
  if (!object.is_object()) throw Error(path_, "line " + std::to_string(line_) + " is not a JSON object");
  const auto found = object.find(key_);
  if (found == object.end() || !found->is_string()) {
    throw Error(path_, "line " + std::to_string(line_) + " has no text under \"" + key_ + "\"");
  }
  return found->get<std::string>();
}

double DataSet::share() const noexcept {
  const std::size_t at = format_ == Format::csv ? csv_.at() : at_;
  return text_.empty() ? 1 : static_cast<double>(std::min(at, text_.size())) / static_cast<double>(text_.size());
}

// FNV-1a.
std::uint64_t DataSet::fingerprint() const noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : text_) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return hash;
}

}  // namespace attn::text
