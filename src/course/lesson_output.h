// course/lesson_output.h - what a lesson has computed: arrays, words and figures by name. Its text says where each is
// shown.
#pragma once

#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/array.h"
#include "figure/scene/figure.h"

namespace attn::course {

// Members by name, in the order in which they came.
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
  std::deque<std::pair<std::string, T>> all_;  // what add() gave stays where it is
};

struct LessonOutput {
  Named<LessonArray> arrays;      // all numbers of the lesson: what --json prints, and what its text refers to
  Named<std::string> words;       // names and short texts that were found, "AI"
  Named<figure::Figure> figures;  // what -o writes
  Named<LessonArray> measured;    // times: not the same on two machines, so outside what is compared
};

inline void add_number(LessonOutput& output, const std::string& name, double number) {
  output.arrays.add(name, LessonArray::scalar(number));
}

}  // namespace attn::course
