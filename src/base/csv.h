// base/csv.h - lines of cells, as RFC 4180 has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::base {

// Lines inside quotation marks belong to their cell. `text` and `path` must outlive it.
class CsvLines {
 public:
  CsvLines(std::string_view text, const std::string& path, char separator = ',');

  // The next line that is not blank; false: there is none. Throws attn::Error, with the line, for quotation marks that
  // are not closed or that something follows.
  bool next(std::vector<std::string>& cells);
  // Of the line that next() gave, from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }

  // Byte behind it.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

  // Throws attn::Error: "line 7" and the problem.
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
