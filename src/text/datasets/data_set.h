// text/datasets/data_set.h - a file of texts, one after the other, and what belongs to each.
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
  std::string label;  // or the translation; empty: none was wanted
};

// What is to be read of each example.
enum class Wanted : std::uint8_t { text, label, translation };

// Names that the user gave; none: the usual ones are looked for.
struct ExampleColumns {
  std::optional<std::string> text, label;
};

// .csv, .tsv: a first line of names, then an example a line. The text is in the column that is asked for; if none is,
// in that named "text", "review", "sentence", "content" or (of a translation) "source", else in the one whose first
// cells are the longest. A label is in the column asked for or named "label", "sentiment", "class", "category" or
// "target", a translation in that named "target" or "translation", or of two columns in the second. .jsonl: an object a
// line, with "text" or the name that is asked for, and a label (also a number) under the names above. Any other file: a
// text a line. What is not UTF-8 is refused. The whole file is kept in memory.
class DataSet {
 public:
  // Throws attn::Error, also for a column that is not there: the message names those that are.
  explicit DataSet(const std::filesystem::path& file, const std::optional<std::string>& column = std::nullopt)
      : DataSet(file, Wanted::text, {.text = column, .label = std::nullopt}) {}
  DataSet(const std::filesystem::path& file, Wanted wanted, const ExampleColumns& columns);
  DataSet(const DataSet&) = delete;
  DataSet& operator=(const DataSet&) = delete;
  ~DataSet() = default;

  // The next text, which may be empty; none: that was the last. Throws attn::Error with the line.
  std::optional<std::string> next();
  // With its label, if one is wanted; it may be empty, too.
  std::optional<Example> next_example();
  // Where the last one began, from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return has_names() ? csv_.line() : line_; }

  // How much of the file has been read, in [0, 1].
  [[nodiscard]] double share() const noexcept;

  // Of the file's bytes: tells whether it is still the same.
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
  std::optional<std::string> label_key_;  // found in the first object, unless it is asked for
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
  base::CsvLines csv_;  // on text_
  std::size_t column_ = 0, label_column_ = 0;
};

}  // namespace attn::text
