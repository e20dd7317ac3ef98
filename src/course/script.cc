#include "course/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/counted.h"

namespace attn::course {

namespace {

bool takes(std::string_view& line, std::string_view mark) {
  if (!line.starts_with(mark)) return false;
  line.remove_prefix(mark.size());
  return true;
}

bool is_beyond_ascii(char byte) { return static_cast<unsigned char>(byte) >= 0x80; }
// Chinese punctuation, U+3000 to U+303F and U+FF00 to U+FF7F, which needs no space beside it.
bool ends_wide(std::string_view text) {
  const std::string_view lead = text.size() < 3 ? "" : text.substr(text.size() - 3, 2);
  return lead == "\xE3\x80" || lead == "\xEF\xBC" || lead == "\xEF\xBD";
}
// Whether to join two lines of a paragraph with a space; Chinese uses none.
bool want_space(std::string_view text, std::string_view next) {
  return !ends_wide(text) && !(is_beyond_ascii(text.back()) && is_beyond_ascii(next.front()));
}

class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text) : text_(text) {}

  Script script() {
    while (next()) read();
    end_paragraph();
    if (script_.title.empty() || script_.line.empty() || script_.steps.empty())
      throw std::invalid_argument("a lesson must begin with '# title', '> one sentence' and '## id: title'");
    return std::move(script_);
  }

 private:
  bool next() {
    if (text_.empty()) return false;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    line_ = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++number_;
    return true;
  }

  void read() {
    std::string_view rest = line_;
    if (rest.empty()) return end_paragraph();
    if (takes(rest, "## ")) return begin_step(rest);
    if (takes(rest, "# ")) return static_cast<void>(script_.title = rest);
    if (takes(rest, "> ")) return static_cast<void>(script_.line = rest);
    if (script_.steps.empty()) fail("comes before the first step");
    if (takes(rest, "$ ")) return add(ScriptBlock::What::formula, rest);
    if (takes(rest, "@ ")) return add_show(rest);
    if (takes(rest, "- ")) return add(ScriptBlock::What::item, rest);
    if (takes(rest, "! ")) return begin(ScriptBlock::What::wrong, rest);
    if (takes(rest, "? ")) return begin(ScriptBlock::What::question, rest);
    if (takes(rest, "= ")) return add_answer(rest);
    if (!open_) return begin(ScriptBlock::What::paragraph, rest);
    std::string& text = script_.steps.back().blocks.back().text;
    if (want_space(text, rest)) text += ' ';
    text += rest;
  }

  void begin_step(std::string_view heading) {
    end_paragraph();
    const std::size_t colon = heading.find(": ");
    if (colon == std::string_view::npos) fail("is not '## id: title'");
    script_.steps.push_back({std::string(heading.substr(0, colon)), std::string(heading.substr(colon + 2)), {}});
  }
  void add_show(std::string_view rest) {
    end_paragraph();
    const std::size_t space = std::min(rest.find(' '), rest.size());
    script_.steps.back().blocks.push_back({.what = ScriptBlock::What::show,
                                           .text = std::string(rest.substr(std::min(space + 1, rest.size()))),
                                           .how = std::string(rest.substr(0, space))});
  }
  void add_answer(std::string_view rest) {
    end_paragraph();
    std::vector<ScriptBlock>& blocks = script_.steps.back().blocks;
    const std::size_t space = rest.rfind(' ');
    if (blocks.empty() || blocks.back().what != ScriptBlock::What::question || space == std::string_view::npos)
      fail("is not '= NUMBER TOLERANCE' after a question");
    blocks.back().answer = rest.substr(0, space);
    std::from_chars(rest.data() + space + 1, rest.data() + rest.size(), blocks.back().tolerance);
  }
  void add(ScriptBlock::What what, std::string_view text) {
    end_paragraph();
    script_.steps.back().blocks.push_back({.what = what, .text = std::string(text)});
  }
  // Starts a block; the lines that follow continue it.
  void begin(ScriptBlock::What what, std::string_view text) {
    add(what, text);
    open_ = true;
  }
  void end_paragraph() { open_ = false; }
  [[noreturn]] void fail(std::string_view why) const {
    throw std::invalid_argument(fmt::format("line {} {}: {}", number_, why, line_));
  }

  std::string_view text_, line_;
  std::int64_t number_ = 0;
  bool open_ = false;
  Script script_;
};

[[noreturn]] void unknown(std::string_view reference, std::string_view why) {
  throw std::invalid_argument(fmt::format("{{{}}} {}", reference, why));
}

std::int64_t place_in(std::string_view list, const LessonArray& array, std::string_view reference) {
  std::int64_t place = 0, axis = 0;
  while (!list.empty()) {
    std::int64_t index = 0;
    const auto [stop, problem] = std::from_chars(list.data(), list.data() + list.size(), index);
    if (problem != std::errc() || axis >= array.rank()) unknown(reference, "is no place in " + shape_text(array.shape));
    const std::int64_t size = array.shape[static_cast<std::size_t>(axis++)];
    if (index < 0) index += size;
    if (index < 0 || index >= size) unknown(reference, "is no place in " + shape_text(array.shape));
    place = place * size + index;
    list.remove_prefix(static_cast<std::size_t>(stop - list.data()));
    if (list.starts_with(',')) list.remove_prefix(1);
  }
  if (axis != array.rank()) unknown(reference, "is no place in " + shape_text(array.shape));
  return place;
}

std::string number_text(double number, std::string_view format) {
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (format == "grouped") return base::grouped(std::llround(number));
  if (format == "percent") return fmt::format("{:.1f}%", 100 * number);
  if (format.empty()) return fmt::format("{}", number);
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", format)), number);
}

// Splits "name[i,j]" into "name" and "i,j".
struct Reference {
  std::string_view name, list;

  explicit Reference(std::string_view text) : name(text.substr(0, text.find('['))) {
    if (name.size() < text.size()) list = text.substr(name.size() + 1);
    if (list.ends_with(']')) list.remove_suffix(1);
  }
};

const LessonArray& computed_array(std::string_view name, std::string_view reference, const LessonOutput& output) {
  const LessonArray* array = output.arrays.find(name);
  if (array == nullptr) array = output.measured.find(name);
  if (array == nullptr) unknown(reference, "was not computed");
  return *array;
}

std::string value_of(std::string_view reference, const LessonOutput& output) {
  const std::size_t colon = reference.rfind(':');
  const std::string_view format = colon == std::string_view::npos ? "" : reference.substr(colon + 1);
  const Reference place(reference.substr(0, colon));
  if (const std::string* const word = output.words.find(place.name)) return *word;
  if (format == "shape") return shape_text(computed_array(place.name, reference, output).shape);
  return number_text(number_at(reference.substr(0, colon), output), format);
}

bool mentions_measured(const ScriptBlock& block, const LessonOutput& output) {
  if (block.what == ScriptBlock::What::show) return output.measured.find(block.text) != nullptr;
  return std::ranges::any_of(output.measured,
                             [&](const auto& one) { return block.text.find("{" + one.first) != std::string::npos; });
}

// Strips leading {?name} and {!name} from a block. Returns false if the block must not be shown.
bool is_wanted(ScriptBlock& block, const LessonOutput& output) {
  const std::size_t close = block.text.find('}');
  const bool if_there = block.text.starts_with("{?");
  if (!(if_there || block.text.starts_with("{!")) || close == std::string::npos) return true;
  const std::string name = block.text.substr(2, close - 2);
  block.text.erase(0, close + 1);
  return if_there == (output.words.find(name) != nullptr || output.arrays.find(name) != nullptr);
}

}  // namespace

Script parse_script(std::string_view text) { return ScriptReader(text).script(); }

double number_at(std::string_view reference, const LessonOutput& output) {
  const Reference place(reference);
  const LessonArray& array = computed_array(place.name, reference, output);
  return array.numbers[static_cast<std::size_t>(place_in(place.list, array, reference))];
}

std::string filled(std::string_view text, const LessonOutput& output) {
  std::string out;
  for (;;) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) unknown(text.substr(open + 1), "is not closed");
    out += value_of(text.substr(open + 1, close - open - 1), output);
    text.remove_prefix(close + 1);
  }
}

Script filled(Script script, const LessonOutput& output) {
  script.line = filled(script.line, output);
  for (ScriptStep& step : script.steps) {
    step.title = filled(step.title, output);
    std::erase_if(step.blocks, [&](ScriptBlock& block) { return !is_wanted(block, output); });
    for (ScriptBlock& block : step.blocks) {
      block.measured = mentions_measured(block, output);
      if (block.what != ScriptBlock::What::show) block.text = filled(block.text, output);
    }
  }
  return script;
}

}  // namespace attn::course
