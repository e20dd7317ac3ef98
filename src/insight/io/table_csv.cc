// insight/io/table_csv.cc - reads tables in RFC 4180 CSV, with or without names.
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "attn/error.h"
#include "base/csv.h"
#include "base/one_line.h"
#include "base/utf8.h"
#include "engine/runtime/copy_bytes.h"
#include "insight/io/table_formats.h"

namespace attn::insight {

namespace {

std::optional<float> number_of(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
  if (cell.starts_with('+')) cell.remove_prefix(1);
  float value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [stop, problem] = std::from_chars(cell.data(), end, value);
  if (stop != end || problem == std::errc::invalid_argument) return std::nullopt;
  if (problem == std::errc::result_out_of_range) {  // from_chars does not distinguish overflow from underflow
    double wide = 0;
    const bool beyond = std::from_chars(cell.data(), end, wide).ec == std::errc::result_out_of_range;
    const std::size_t exponent = cell.find_first_of("eE");
    const bool small =
        beyond ? exponent < cell.size() && cell.substr(exponent + 1).starts_with('-') : std::fabs(wide) < 1;
    return small ? 0.0F : HUGE_VALF;
  }
  return value;
}

// Reads line by line. Keeps the first cell of each line as text: only at the end is it clear whether these are names.
class CsvTable {
 public:
  CsvTable(std::string_view text, const std::string& path) : lines_(text, path), path_(path) {}

  TableFile read() {
    std::vector<std::string> cells;
    if (!lines_.next(cells)) throw Error(path_, "is empty");
    width_ = cells.size();
    take_first(cells);
    while (lines_.next(cells)) {
      if (cells.size() != width_)
        lines_.fail(lines_.line(),
                    " has " + std::to_string(cells.size()) + " cells; the first has " + std::to_string(width_));
      take(cells);
    }
    return finish();
  }

 private:
  // The first line holds column names if any cell is not a number. Its first cell does not count if numbers follow: it
  // may be the name of a row.
  void take_first(std::vector<std::string>& cells) {
    bool names = cells[0].empty() || (width_ == 1 && !number_of(cells[0]));
    for (std::size_t j = 1; j < width_; ++j) names = names || !number_of(cells[j]);
    named_rows_ = cells[0].empty() || (!names && !number_of(cells[0]));
    if (!names) return take(cells);
    header_ = cells;
  }

  void take(std::vector<std::string>& cells) {
    if (!header_.empty() && width_ > 1 && !number_of(cells[0])) named_rows_ = true;
    for (std::size_t j = 1; j < width_; ++j) rest_.push_back(number(cells[j], lines_.line(), j));
    first_.push_back({std::move(cells[0]), lines_.line()});
  }

  [[nodiscard]] float number(const std::string& cell, std::int64_t line, std::size_t column) const {
    const std::optional<float> value = number_of(cell);
    if (value && std::isfinite(*value)) return *value;
    lines_.fail(line, ", column " + std::to_string(column + 1) + ": " + base::in_quotes(cell) +
                          (value ? " is not finite; weights must be" : " is not a number"));
  }

  TableFile finish() {
    const std::size_t skipped = named_rows_ ? 1 : 0;
    if (first_.empty() || width_ == skipped) throw Error(path_, "has names only, no numbers");
    TableFile file;
    file.tables = tables_of(
        std::vector{static_cast<std::int64_t>(first_.size()), static_cast<std::int64_t>(width_ - skipped)}, path_);
    for (std::size_t i = 0; i < first_.size(); ++i) {
      float* row = file.tables.numbers.row(static_cast<std::int64_t>(i));
      if (named_rows_) {
        file.queries.push_back(std::move(first_[i].text));
      } else {
        *row++ = number(first_[i].text, first_[i].line, 0);
      }
      copy_bytes(row, rest_.data() + i * (width_ - 1), (width_ - 1) * sizeof(float));
    }
    if (!header_.empty()) file.keys.assign(header_.begin() + static_cast<std::ptrdiff_t>(skipped), header_.end());
    return file;
  }

  struct FirstCell {
    std::string text;
    std::int64_t line = 0;
  };

  base::CsvLines lines_;
  const std::string& path_;
  std::size_t width_ = 0;  // cells per line
  bool named_rows_ = false;
  std::vector<std::string> header_;  // empty: no header
  std::vector<FirstCell> first_;
  std::vector<float> rest_;  // [lines, width - 1]
};

}  // namespace

TableFile read_csv(const std::string& text, const std::string& path) {
  if (const auto bad = base::first_bad_byte(text))
    throw Error(path, "is not UTF-8 from here on", static_cast<std::int64_t>(*bad));
  return CsvTable(text, path).read();
}

}  // namespace attn::insight
