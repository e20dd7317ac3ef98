// course/lesson_output.h - what a lesson computes: arrays, words and figures by name. The lesson's text places them.
#pragma once

#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/array.h"
#include "figure/scene/figure.h"

namespace attn::course {

// Members by name, in the order in which they were added.
template <typename T>
class Named {
 public:
  const T& add(std::string name, T value) {
    all_.emplace_back(std::move(name), std::move(value));
    return all_.back().second;
  }
  [[nodiscard]] const T* find(std::string_view name) const {
    for (const auto& [key, value] : all_)
      if (key == name) return &value;
    return nullptr;
  }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  std::deque<std::pair<std::string, T>> all_;  // a deque, so that references from add() stay valid
};

struct LessonOutput {
  Named<LessonArray> arrays;      // all numbers of the lesson, for --json and for references in the text
  Named<std::string> words;       // names and short texts, such as "AI"
  Named<figure::Figure> figures;  // written by -o
  Named<LessonArray> measured;    // times, which differ between machines and are not compared
};

inline void add_number(LessonOutput& output, const std::string& name, double number) {
  output.arrays.add(name, LessonArray::scalar(number));
}

}  // namespace attn::course
