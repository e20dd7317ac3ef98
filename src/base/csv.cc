#include "base/csv.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/error.h"

namespace attn::base {

CsvLines::CsvLines(std::string_view text, const std::string& path, char separator)
    : text_(text), path_(path), separator_(separator) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
}

bool CsvLines::next(std::vector<std::string>& cells) {
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) end_line();
  if (at_ >= text_.size()) return false;
  line_ = lines_;
  cells.assign(1, cell());
  while (at_ < text_.size() && text_[at_] == separator_) {
    ++at_;
    cells.push_back(cell());
  }
  if (at_ < text_.size()) end_line();
  return true;
}

void CsvLines::fail(std::int64_t line, const std::string& problem) const {
  throw Error(path_, "line " + std::to_string(line) + problem);
}

void CsvLines::end_line() {
  if (text_[at_] == '\r') ++at_;
  if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  ++lines_;
}

std::string CsvLines::cell() {
  if (at_ >= text_.size() || text_[at_] != '"') {
    const std::array<char, 3> ends = {separator_, '\r', '\n'};
    const std::size_t end = std::min(text_.find_first_of(ends.data(), at_, ends.size()), text_.size());
    const std::size_t begin = std::exchange(at_, end);
    return std::string(text_.substr(begin, end - begin));
  }
  std::string out;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\n') ++lines_;
    if (text_[at_] != '"') {
      out += text_[at_];
    } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
      out += text_[++at_];
    } else {
      ++at_;
      if (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
        fail(lines_, std::string(separator_ == ',' ? ": a comma" : ": a tab") +
                         " or the end of the line should follow the closing quotation mark");
      return out;
    }
  }
  fail(line_, ": a quotation mark is opened and never closed");
}

}  // namespace attn::base
