// lessons/rnn-or-attention/compute.cc - an RNN against attention: steps, path lengths, forgetting, and time.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/shares.h"
#include "course/compute/timing.h"
#include "course/course.h"

namespace attn::course {

namespace {

// The attention of one word to its sentence: bars, and the word with the largest weight.
void ask(LessonOutput& output, const LessonInput& input, const std::string& name, ThreadPool& pool) {
  const std::vector<std::string>& words = input.words(name + "_words");
  const std::string& asks = input.text(name + "_asks");
  const LessonArray keys = LessonArray(input.array(name + "_keys")).named(words, input.words("features"));
  const LessonArray query = LessonArray(input.array(name + "_query")).named({asks}, input.words("features"));
  if (keys.height() != std::ssize(words))
    throw std::invalid_argument(name + "_keys has " + std::to_string(keys.height()) + " rows for " +
                                std::to_string(words.size()) + " words");
  output.words.add(name + "_asks", asks);
  output.arrays.add(name + "_query", query);
  output.arrays.add(name + "_keys", keys);
  LessonAttention seen = attend(query, keys, keys, {}, pool);
  const std::vector<std::int64_t> order = by_weight(seen.weights, 0);
  const auto word = [&](std::size_t place) { return words[static_cast<std::size_t>(order.at(place))]; };
  output.words.add(name + "_first", word(0));
  output.words.add(name + "_second", word(std::min<std::size_t>(1, order.size() - 1)));
  figure::Bars bars{.bars = {}, .title = asks, .x_label = "weight", .caption = {}};
  std::vector<double> best;
  for (std::size_t n = 0; n < words.size(); ++n) {
    bars.bars.push_back({words[n], seen.weights.numbers[n]});
    best.push_back(seen.weights.at(0, order[n]));
  }
  output.figures.add(name, std::move(bars));
  output.arrays.add(name + "_sorted", LessonArray::vector(std::move(best)));
  add(output, std::move(seen),
      {.q = name + "_query",
       .k = name + "_keys",
       .v = name + "_keys",
       .prefix = name + "_",
       .queries = {asks},
       .keys = words});
}

// tanh(h W + x U), row by row.
LessonArray states_of(const LessonArray& x, const LessonArray& w, const LessonArray& u) {
  LessonArray states = product(x, u);
  for (std::int64_t i = 0; i < states.height(); ++i)
    for (std::int64_t j = 0; j < states.width(); ++j) {
      for (std::int64_t t = 0; i > 0 && t < states.width(); ++t) states.at(i, j) += states.at(i - 1, t) * w.at(t, j);
      states.at(i, j) = std::tanh(states.at(i, j));
    }
  return states;
}

void in_turn(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::vector<std::string>& words = input.words("words");
  const LessonArray x = output.arrays.add("X", LessonArray(input.array("X")).named(words, {}));
  const LessonArray w = output.arrays.add("W", input.array("W")), u = output.arrays.add("U", input.array("U"));
  const bool fits = w.rank() == 2 && w.height() == w.width() && u.rank() == 2 && u.width() == w.height();
  if (!fits)
    throw std::invalid_argument("W must be [d, d] and U [width of X, d], not " + shape_text(w.shape) + " and " +
                                shape_text(u.shape));
  std::vector<std::string> names;
  for (std::size_t n = 0; n < words.size(); ++n) names.push_back("h" + std::to_string(n + 1) + " " + words[n]);
  output.arrays.add("hidden", states_of(x, w, u).named(names, {}));
  output.arrays.add("word_count", LessonArray::scalar(static_cast<double>(words.size())));
  add(output, attend(x, x, x, {}, pool), {.q = "X", .k = "X", .v = "X", .queries = words, .keys = words});
}

void costs(LessonOutput& output, const LessonInput& input) {
  const auto n = static_cast<double>(input.whole("n")), d = static_cast<double>(input.whole("d"));
  output.arrays.add("n", LessonArray::scalar(n));
  output.arrays.add("d", LessonArray::scalar(d));
  output.arrays.add("costs", LessonArray({2, 3}, {n, n - 1, n * d * d, 1, 1, n * n * d}, {"RNN", "attention"},
                                         {"steps", "path", "products"}));
}

// How much of the first word is left after each further word, from two texts that differ in it alone; and what a query
// for that word still finds.
void forgetting(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::int64_t n = input.whole("n"), width = 16;
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray w =
      times(normal({width, width}, random), input.real("keep") / std::sqrt(static_cast<double>(width)));
  const LessonArray u = times(normal({width, width}, random), 1 / std::sqrt(static_cast<double>(width)));
  LessonArray one = normal({n, width}, random), other = one;
  for (std::int64_t j = 0; j < width; ++j) other.at(0, j) = random.normal();
  const LessonArray a = states_of(one, w, u), b = states_of(other, w, u);
  LessonArray left = LessonArray::zeros({n}), found = left;
  std::vector<double> places;
  const LessonArray query({1, 4}, {4, 0, 0, 0});
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < width; ++j) sum += std::pow(a.at(i, j) - b.at(i, j), 2);
    left.numbers[static_cast<std::size_t>(i)] = std::sqrt(sum);
    LessonArray keys = LessonArray::zeros({i + 1, 4});
    keys.at(0, 0) = 4;
    found.numbers[static_cast<std::size_t>(i)] = attend(query, keys, keys, {}, pool).weights.numbers[0];
    places.push_back(static_cast<double>(i + 1));
  }
  left = times(left, 1 / left.numbers[0]);
  output.figures.add("forgetting",
                     figure::Curves{.curves = {{"RNN", places, left.numbers}, {"attention", places, found.numbers}},
                                    .title = "what is left of the first word",
                                    .x_label = "words read",
                                    .y_label = "share",
                                    .caption = {}});
  output.arrays.add("left", std::move(left));
  output.arrays.add("found", std::move(found));
}

void time(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  constexpr Way kWays[] = {Way::rnn, Way::fused};
  const std::vector<double> lengths = {16, 64, 256, 1024, 4096, 8192};
  add_timings(output, "seconds", {.ways = kWays, .lengths = lengths, .d = input.whole("d")}, pool);
  output.arrays.add("lengths", LessonArray::vector(lengths));
  const LessonArray& seconds = *output.measured.find("seconds");
  LessonArray faster = LessonArray::zeros({std::ssize(lengths)});
  for (std::int64_t i = 0; i < std::ssize(lengths); ++i)
    faster.numbers[static_cast<std::size_t>(i)] = seconds.at(0, i) / seconds.at(1, i);
  output.measured.add("faster", std::move(faster).named({}, seconds.columns));
  output.measured.add("threads", LessonArray::scalar(pool.threads()));
}

}  // namespace

LessonOutput rnn_or_attention(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  for (const char* name : {"he", "she", "bank"}) ask(output, input, name, work.pool);
  in_turn(output, input, work.pool);
  costs(output, input);
  forgetting(output, input, work.pool);
  time(output, input, work.pool);
  return output;
}

}  // namespace attn::course
