// lessons/rnn-or-attention/compute.cc - word by word, or every pair at once: steps, paths, what is forgotten, and time.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/shares.h"
#include "course/compute/timing.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

// One word asks all words of its sentence: bars, and which of them it looks at most.
void ask(Told& told, const Given& given, const std::string& name, ThreadPool& pool) {
  const std::vector<std::string>& words = given.words(name + "_words");
  const std::string& asks = given.text(name + "_asks");
  const Array keys = Array(given.array(name + "_keys")).named(words, given.words("features"));
  const Array query = Array(given.array(name + "_query")).named({asks}, given.words("features"));
  if (keys.height() != std::ssize(words))
    throw std::invalid_argument(name + "_keys has " + std::to_string(keys.height()) + " rows for " +
                                std::to_string(words.size()) + " words");
  told.words.add(name + "_asks", asks);
  told.arrays.add(name + "_query", query);
  told.arrays.add(name + "_keys", keys);
  Attended seen = attend(query, keys, keys, {}, pool);
  const std::vector<std::int64_t> order = by_weight(seen.weights, 0);
  const auto word = [&](std::size_t place) { return words[static_cast<std::size_t>(order.at(place))]; };
  told.words.add(name + "_first", word(0));
  told.words.add(name + "_second", word(std::min<std::size_t>(1, order.size() - 1)));
  figure::Bars bars{.bars = {}, .title = asks, .x_label = "weight", .caption = {}};
  std::vector<double> best;
  for (std::size_t n = 0; n < words.size(); ++n) {
    bars.bars.push_back({words[n], seen.weights.numbers[n]});
    best.push_back(seen.weights.at(0, order[n]));
  }
  told.figures.add(name, std::move(bars));
  told.arrays.add(name + "_sorted", Array::vector(std::move(best)));
  add(told, std::move(seen),
      {.q = name + "_query",
       .k = name + "_keys",
       .v = name + "_keys",
       .prefix = name + "_",
       .queries = {asks},
       .keys = words});
}

// h W + x U through tanh, a row after the other.
Array states_of(const Array& x, const Array& w, const Array& u) {
  Array states = product(x, u);
  for (std::int64_t i = 0; i < states.height(); ++i)
    for (std::int64_t j = 0; j < states.width(); ++j) {
      for (std::int64_t t = 0; i > 0 && t < states.width(); ++t) states.at(i, j) += states.at(i - 1, t) * w.at(t, j);
      states.at(i, j) = std::tanh(states.at(i, j));
    }
  return states;
}

void in_turn(Told& told, const Given& given, ThreadPool& pool) {
  const std::vector<std::string>& words = given.words("words");
  const Array x = told.arrays.add("X", Array(given.array("X")).named(words, {}));
  const Array w = told.arrays.add("W", given.array("W")), u = told.arrays.add("U", given.array("U"));
  const bool fits = w.rank() == 2 && w.height() == w.width() && u.rank() == 2 && u.width() == w.height();
  if (!fits)
    throw std::invalid_argument("W is [d, d] and U [width of X, d], not " + shape_text(w.shape) + " and " +
                                shape_text(u.shape));
  std::vector<std::string> names;
  for (std::size_t n = 0; n < words.size(); ++n) names.push_back("h" + std::to_string(n + 1) + " " + words[n]);
  told.arrays.add("hidden", states_of(x, w, u).named(names, {}));
  told.arrays.add("word_count", Array::scalar(static_cast<double>(words.size())));
  add(told, attend(x, x, x, {}, pool), {.q = "X", .k = "X", .v = "X", .queries = words, .keys = words});
}

void costs(Told& told, const Given& given) {
  const auto n = static_cast<double>(given.whole("n")), d = static_cast<double>(given.whole("d"));
  told.arrays.add("n", Array::scalar(n));
  told.arrays.add("d", Array::scalar(d));
  told.arrays.add("costs", Array({2, 3}, {n, n - 1, n * d * d, 1, 1, n * n * d}, {"RNN", "attention"},
                                 {"steps", "path", "products"}));
}

// How much of a first word is left after each further word: two texts that differ in it alone. And what a query that
// looks for that word still finds.
void forgetting(Told& told, const Given& given, ThreadPool& pool) {
  const std::int64_t n = given.whole("n"), width = 16;
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  const Array w = times(normal({width, width}, random), given.real("keep") / std::sqrt(static_cast<double>(width)));
  const Array u = times(normal({width, width}, random), 1 / std::sqrt(static_cast<double>(width)));
  Array one = normal({n, width}, random), other = one;
  for (std::int64_t j = 0; j < width; ++j) other.at(0, j) = random.normal();
  const Array a = states_of(one, w, u), b = states_of(other, w, u);
  Array left = Array::zeros({n}), found = left;
  std::vector<double> places;
  const Array query({1, 4}, {4, 0, 0, 0});
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < width; ++j) sum += std::pow(a.at(i, j) - b.at(i, j), 2);
    left.numbers[static_cast<std::size_t>(i)] = std::sqrt(sum);
    Array keys = Array::zeros({i + 1, 4});
    keys.at(0, 0) = 4;
    found.numbers[static_cast<std::size_t>(i)] = attend(query, keys, keys, {}, pool).weights.numbers[0];
    places.push_back(static_cast<double>(i + 1));
  }
  left = times(left, 1 / left.numbers[0]);
  told.figures.add("forgetting",
                   figure::Curves{.curves = {{"RNN", places, left.numbers}, {"attention", places, found.numbers}},
                                  .title = "what is left of the first word",
                                  .x_label = "words read",
                                  .y_label = "share",
                                  .caption = {}});
  told.arrays.add("left", std::move(left));
  told.arrays.add("found", std::move(found));
}

void time(Told& told, const Given& given, ThreadPool& pool) {
  constexpr Way kWays[] = {Way::rnn, Way::fused};
  const std::vector<double> lengths = {16, 64, 256, 1024, 4096, 8192};
  add_race(told, "seconds", {.ways = kWays, .lengths = lengths, .d = given.whole("d")}, pool);
  told.arrays.add("lengths", Array::vector(lengths));
  const Array& seconds = *told.measured.find("seconds");
  Array faster = Array::zeros({std::ssize(lengths)});
  for (std::int64_t i = 0; i < std::ssize(lengths); ++i)
    faster.numbers[static_cast<std::size_t>(i)] = seconds.at(0, i) / seconds.at(1, i);
  told.measured.add("faster", std::move(faster).named({}, seconds.columns));
  told.measured.add("threads", Array::scalar(pool.threads()));
}

}  // namespace

Told rnn_or_attention(const Given& given, const Work& work) {
  Told told;
  for (const char* name : {"he", "she", "bank"}) ask(told, given, name, work.pool);
  in_turn(told, given, work.pool);
  costs(told, given);
  forgetting(told, given, work.pool);
  time(told, given, work.pool);
  return told;
}

}  // namespace attn::lesson
