// text/data_set.h - a file of texts, one after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "text/csv.h"

namespace attn::text {

// .csv: a first line of names, then a text a line, in the column that is asked for; if none is, in that named "text",
// "review", "sentence" or "content", else in the one whose first cells are the longest. .jsonl: an object a line, with
// "text" or the name that is asked for. Any other file: a text a line. What is not UTF-8 is refused. The whole file
// is kept in memory.
class DataSet {
 public:
  // Throws attn::Error, also for a column that is not there: the message names those that are.
  explicit DataSet(const std::filesystem::path& file, const std::optional<std::string>& column = std::nullopt);
  DataSet(const DataSet&) = delete;
  DataSet& operator=(const DataSet&) = delete;
  ~DataSet() = default;

  // The next text, which may be empty; none: that was the last. Throws attn::Error with the line.
  std::optional<std::string> next();

  // How much of the file has been read, in [0, 1].
  [[nodiscard]] double share() const noexcept;

  // Of the file's bytes: tells whether it is still the same.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

 private:
  std::optional<std::string> next_line();
  std::optional<std::string> next_cell();
  std::optional<std::string> next_object();
  void find_column(const std::optional<std::string>& asked);

  enum class Format : std::uint8_t { lines, csv, jsonl };

  std::string path_;
  Format format_ = Format::lines;
  std::string text_;
  std::string key_;  // of JSON objects
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
  CsvLines csv_;  // on text_
  std::size_t column_ = 0;
};

}  // namespace attn::text
