// lessons/dot-product/compute.cc - one query, its scores with keys, and the weighted mean of values.
#include <cmath>

#include "course/compute/attend.h"
#include "course/course.h"

namespace attn::course {

namespace {

void add_input(LessonOutput& output, const LessonInput& input, const std::string& name,
               std::vector<std::string> rows = {}) {
  output.arrays.add(name, LessonArray(input.array(name)).named(std::move(rows), {}));
}

figure::Bars weight_bars(const LessonArray& weights, const std::vector<std::string>& names, std::string title) {
  figure::Bars bars{.bars = {}, .title = std::move(title), .x_label = "weight", .caption = {}};
  for (std::size_t j = 0; j < names.size(); ++j) bars.bars.push_back({names[j], weights.numbers[j]});
  return bars;
}

// The exercises: Q, K and V under names that end in a number.
void exercise(LessonOutput& output, const LessonInput& input, const std::string& number, ThreadPool& pool) {
  const std::string q = "Q" + number, k = "K" + number, v = "V" + number;
  for (const std::string& name : {q, k, v}) add_input(output, input, name);
  add(output, attend(input.array(q), input.array(k), input.array(v), {}, pool),
      {.q = q, .k = k, .v = v, .prefix = "exercise" + number + "_"});
}

}  // namespace

LessonOutput dot_product(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const std::vector<std::string>& keys = input.words("books");
  output.words.add("query", input.text("query"));
  add_input(output, input, "Q", {input.text("query")});
  add_input(output, input, "K", keys);
  add_input(output, input, "V", keys);
  LessonAttention library = attend(input.array("Q"), input.array("K"), input.array("V"), {}, work.pool);
  output.arrays.add("d_k", LessonArray::scalar(static_cast<double>(input.array("Q").width())));
  output.arrays.add("root", LessonArray::scalar(std::sqrt(static_cast<double>(input.array("Q").width()))));
  output.figures.add("library", weight_bars(library.weights, keys, input.text("query")));
  add(output, std::move(library), {.queries = {input.text("query")}, .keys = keys});

  const std::vector<std::string>& words = input.words("words");
  add_input(output, input, "X", words);
  for (std::size_t n = 0; n < words.size(); ++n) output.words.add("word" + std::to_string(n), words[n]);
  LessonAttention by_hand = attend(input.array("X"), input.array("X"), input.array("X"), {}, work.pool);
  add(output, std::move(by_hand), {.q = "X", .k = "X", .v = "X", .prefix = "hand_", .queries = words, .keys = words});

  exercise(output, input, "1", work.pool);
  exercise(output, input, "2", work.pool);
  return output;
}

}  // namespace attn::course
