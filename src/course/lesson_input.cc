#include "course/lesson_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/csv.h"
#include "course/json.h"

namespace attn::course {

namespace {

template <typename Map>
const auto& member(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  if (found == map.end()) throw std::invalid_argument("the lesson has no '" + name + "'");
  return found->second;
}

}  // namespace

const Setting& LessonInput::setting(const std::string& name) const {
  const auto found = std::ranges::find(settings_, name, &Setting::name);
  if (found != settings_.end()) return *found;
  std::vector<std::string> known;
  for (const Setting& one : settings_) known.push_back(one.name);
  throw std::invalid_argument(
      known.empty() ? fmt::format("this lesson has no settings; '{}' cannot be set", name)
                    : fmt::format("there is no setting '{}'; choose from {}", name, fmt::join(known, ", ")));
}

std::int64_t LessonInput::whole(const std::string& name) const { return std::llround(setting(name).value); }
double LessonInput::real(const std::string& name) const { return setting(name).value; }
const LessonArray& LessonInput::array(const std::string& name) const { return member(arrays, name); }
const std::vector<std::string>& LessonInput::words(const std::string& name) const { return member(lists, name); }
const std::string& LessonInput::text(const std::string& name) const { return member(texts, name); }

void LessonInput::set(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw std::invalid_argument("'" + assignment + "' is not NAME=NUMBER");
  const Setting& known = setting(assignment.substr(0, equals));
  const std::string input = assignment.substr(equals + 1);
  double value = 0;
  const char* const end = input.data() + input.size();
  const auto [stop, problem] = std::from_chars(input.data(), end, value);
  const bool fits = problem == std::errc() && stop == end && value >= known.least && value <= known.most &&
                    (!known.whole || value == std::round(value));
  if (!fits)
    throw std::invalid_argument(fmt::format("{} must be a {} from {} to {}, not '{}'", known.name,
                                            known.whole ? "whole number" : "number", known.least, known.most, input));
  std::ranges::find(settings_, known.name, &Setting::name)->value = value;
}

void LessonInput::read(const std::string& file) {
  const std::size_t first = std::min(file.find_first_not_of(" \t\r\n"), file.size());
  if (first < file.size() && file[first] == '{') return put(*this, parse_reader_data(file), Put::known);
  const auto main = std::ranges::find_if(names, [&](const std::string& name) { return arrays.contains(name); });
  if (main == names.end())
    throw std::invalid_argument("this lesson takes no array; pass its texts and words as a JSON object");
  arrays[*main] = array_of_csv(file);
}

void LessonInput::read_vectors(const std::string& lines) {
  if (!arrays.contains("vectors")) throw std::invalid_argument("this lesson takes no word vectors");
  std::vector<std::string> words;
  LessonArray vectors;
  std::istringstream in(lines);
  std::int64_t number = 0, width = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream cells(line);
    std::string word;
    if (!(cells >> word)) continue;
    const std::size_t before = vectors.numbers.size();
    for (double value = 0; cells >> value;) vectors.numbers.push_back(value);
    const auto count = static_cast<std::int64_t>(vectors.numbers.size() - before);
    if (!cells.eof() || count == 0 || (width > 0 && count != width))
      throw std::invalid_argument(fmt::format("line {} of the vectors is not a word followed by {} numbers", number,
                                              width > 0 ? std::to_string(width) : "its"));
    width = count;
    words.push_back(word);
  }
  if (words.empty()) throw std::invalid_argument("the file of vectors has no words");
  vectors.shape = {std::ssize(words), width};
  vectors.rows = words;
  arrays["vectors"] = std::move(vectors);
  lists["words"] = std::move(words);
}

}  // namespace attn::course
