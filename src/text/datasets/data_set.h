// text/datasets/data_set.h - reads a file of texts one by one, with their labels or translations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"

namespace attn::text {

struct Example {
  std::string text;
  std::string label;  // or the translation; empty if not requested
};

// What to read of each example.
enum class Wanted : std::uint8_t { text, label, translation };

// Column names that the user chose; none: look for the usual names.
struct ExampleColumns {
  std::optional<std::string> text, label;
};

// .csv, .tsv: a header line, then one example per line. The text is in the requested column; by default in the one
// named "text", "review", "sentence", "content" or (for translations) "source", else in the one whose first cells are
// the longest. A label is in the requested column, or the one named "label", "sentiment", "class", "category" or
// "target"; a translation in the one named "target" or "translation", or in the second of two columns. .jsonl: one
// object per line, with "text" or the requested key, and a label (which may be a number) under the names above. Any
// other file: one text per line. Text that is not UTF-8 is refused. The whole file is kept in memory.
class DataSet {
 public:
  // Throws attn::Error, also for a missing column; the message lists the columns that exist.
  explicit DataSet(const std::filesystem::path& file, const std::optional<std::string>& column = std::nullopt)
      : DataSet(file, Wanted::text, {.text = column, .label = std::nullopt}) {}
  DataSet(const std::filesystem::path& file, Wanted wanted, const ExampleColumns& columns);
  DataSet(const DataSet&) = delete;
  DataSet& operator=(const DataSet&) = delete;
  ~DataSet() = default;

  // The next text, which may be empty; none at the end. Throws attn::Error with the line number.
  std::optional<std::string> next();
  // With its label if requested, which may be empty, too.
  std::optional<Example> next_example();
  // Line on which the last example began, from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return has_names() ? csv_.line() : line_; }

  // Share of the file that has been read, in [0, 1].
  [[nodiscard]] double share() const noexcept;

  // Hash of the file's bytes, to tell whether it has changed.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

 private:
  using Names = std::vector<std::string>;
  std::optional<std::string> next_line();
  std::optional<Example> next_row();
  std::optional<Example> next_object();
  void find_columns(const ExampleColumns& asked);
  [[nodiscard]] std::size_t asked_column(const Names& names, const std::string& name) const;
  [[nodiscard]] std::size_t text_column(const Names& names, const std::optional<std::string>& asked) const;
  [[nodiscard]] std::size_t label_column(const Names& names, const std::optional<std::string>& asked) const;
  [[nodiscard]] std::span<const std::string_view> label_names() const noexcept;
  [[nodiscard]] const char* label_word() const noexcept;  // "label" or "translation"
  [[nodiscard]] bool has_names() const noexcept { return format_ == Format::csv; }

  enum class Format : std::uint8_t { lines, csv, jsonl };

  std::string path_;
  Format format_ = Format::lines;
  Wanted wanted_;
  std::string text_;
  std::string key_;                       // of JSON objects
  std::optional<std::string> label_key_;  // the requested one, or found in the first object
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
  base::CsvLines csv_;  // a view of text_
  std::size_t column_ = 0, label_column_ = 0;
};

}  // namespace attn::text
