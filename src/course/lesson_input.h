// course/lesson_input.h - settings and data of a lesson, which the reader may replace.
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
  std::map<std::string, std::string> what;  // description by language
  double value = 0, least = 0, most = 0;
  bool whole = true;
};

// Settings, arrays, lists of words and texts by name: the lesson's defaults, unless the reader replaced them.
class LessonInput {
 public:
  // Throw std::invalid_argument if there is nothing of this name.
  [[nodiscard]] std::int64_t whole(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;
  [[nodiscard]] const LessonArray& array(const std::string& name) const;
  [[nodiscard]] const std::vector<std::string>& words(const std::string& name) const;
  [[nodiscard]] const std::string& text(const std::string& name) const;

  // Takes "d_k=8". Throws std::invalid_argument for an unknown name and for a value out of range.
  void set(const std::string& assignment);
  // Takes a JSON object of arrays, lists of words and texts by name, or a CSV file for the lesson's first array. Throws
  // std::invalid_argument for names that the lesson does not have, and for values that are not arrays.
  void read(const std::string& json_or_csv);

  // Takes words with their vectors, one per line: "cat 0.1 0.2". They become the list "words" and the array "vectors",
  // which the lesson must have. Throws std::invalid_argument with the first line whose vector has another length.
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
