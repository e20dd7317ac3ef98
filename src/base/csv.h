// base/csv.h - reads CSV and TSV (RFC 4180).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::base {

// Reads lines of cells. Line breaks inside quotation marks belong to the cell. `text` and `path` must outlive this.
class CsvLines {
 public:
  CsvLines(std::string_view text, const std::string& path, char separator = ',');

  // Reads the next line that is not blank into cells; returns false at the end. Throws attn::Error, with the line, for
  // a quotation mark that is never closed or that is followed by anything but a separator.
  bool next(std::vector<std::string>& cells);
  // The number of the line that next() read, from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }

  // The offset of the byte after it.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

  // Throws attn::Error with "line 7" and the problem.
  [[noreturn]] void fail(std::int64_t line, const std::string& problem) const;

 private:
  void end_line();
  std::string cell();

  std::string_view text_;
  const std::string& path_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t lines_ = 1, line_ = 1;
};

}  // namespace attn::base
