// lessons/dot-product/compute.cc - a query asks, keys answer, values are mixed.
#include <cmath>

#include "course/compute/attend.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

void add_given(Told& told, const Given& given, const std::string& name, std::vector<std::string> rows = {}) {
  told.arrays.add(name, Array(given.array(name)).named(std::move(rows), {}));
}

figure::Bars weight_bars(const Array& weights, const std::vector<std::string>& names, std::string title) {
  figure::Bars bars{.bars = {}, .title = std::move(title), .x_label = "weight", .caption = {}};
  for (std::size_t j = 0; j < names.size(); ++j) bars.bars.push_back({names[j], weights.numbers[j]});
  return bars;
}

// Q, K and V under names with a number behind them: the exercises.
void exercise(Told& told, const Given& given, const std::string& number, ThreadPool& pool) {
  const std::string q = "Q" + number, k = "K" + number, v = "V" + number;
  for (const std::string& name : {q, k, v}) add_given(told, given, name);
  add(told, attend(given.array(q), given.array(k), given.array(v), {}, pool),
      {.q = q, .k = k, .v = v, .prefix = "exercise" + number + "_"});
}

}  // namespace

Told dot_product(const Given& given, const Work& work) {
  Told told;
  const std::vector<std::string>& keys = given.words("books");
  told.words.add("query", given.text("query"));
  add_given(told, given, "Q", {given.text("query")});
  add_given(told, given, "K", keys);
  add_given(told, given, "V", keys);
  Attended library = attend(given.array("Q"), given.array("K"), given.array("V"), {}, work.pool);
  told.arrays.add("d_k", Array::scalar(static_cast<double>(given.array("Q").width())));
  told.arrays.add("root", Array::scalar(std::sqrt(static_cast<double>(given.array("Q").width()))));
  told.figures.add("library", weight_bars(library.weights, keys, given.text("query")));
  add(told, std::move(library), {.queries = {given.text("query")}, .keys = keys});

  const std::vector<std::string>& words = given.words("words");
  add_given(told, given, "X", words);
  for (std::size_t n = 0; n < words.size(); ++n) told.words.add("word" + std::to_string(n), words[n]);
  Attended by_hand = attend(given.array("X"), given.array("X"), given.array("X"), {}, work.pool);
  add(told, std::move(by_hand), {.q = "X", .k = "X", .v = "X", .prefix = "hand_", .queries = words, .keys = words});

  exercise(told, given, "1", work.pool);
  exercise(told, given, "2", work.pool);
  return told;
}

}  // namespace attn::lesson
