// course/lesson_input.h - what the reader gives to a lesson in place of its own data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/array.h"

namespace attn::course {

// A number that the reader may change.
struct Setting {
  std::string name;
  std::map<std::string, std::string> what;  // by language
  double value = 0, least = 0, most = 0;
  bool whole = true;
};

// Settings, arrays and texts by name: the lesson's own, and in their place those of the reader.
class LessonInput {
 public:
  // Throws std::invalid_argument that names what there is.
  [[nodiscard]] std::int64_t whole(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;
  [[nodiscard]] const LessonArray& array(const std::string& name) const;
  [[nodiscard]] const std::vector<std::string>& words(const std::string& name) const;
  [[nodiscard]] const std::string& text(const std::string& name) const;

  // "d_k=8". Throws std::invalid_argument for a name that is not there and for a value out of its range.
  void set(const std::string& assignment);
  // A JSON object of arrays, lists of words and texts by name; or a CSV file, which is the lesson's first array.
  // Throws std::invalid_argument for names that the lesson does not have, and for what is no array.
  void read(const std::string& json_or_csv);

  // Words and their vectors, a line each: "cat 0.1 0.2". They become the list "words" and the array "vectors", which
  // the lesson must have. Throws std::invalid_argument with the line where vectors have different lengths.
  void read_vectors(const std::string& lines);

  void add(Setting setting) { settings_.push_back(std::move(setting)); }
  [[nodiscard]] const std::vector<Setting>& settings() const noexcept { return settings_; }

  std::map<std::string, LessonArray> arrays;
  std::map<std::string, std::vector<std::string>> lists;
  std::map<std::string, std::string> texts;
  std::vector<std::string> names;  // of arrays, lists and texts, in the lesson's order

 private:
  [[nodiscard]] const Setting& setting(const std::string& name) const;
  std::vector<Setting> settings_;
};

}  // namespace attn::course
