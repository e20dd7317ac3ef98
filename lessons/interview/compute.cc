// lessons/interview/compute.cc - questions that are often asked, with a proof beside each answer.
#include <algorithm>
#include <cmath>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"
#include "insight/statistics/statistics.h"

namespace attn::lesson {

namespace {

using insight::Kind;

// The formula, step by step in double precision, against the engine.
void formula(Told& told, const Given& given, ThreadPool& pool) {
  for (const char* name : {"Q", "K", "V"}) told.arrays.add(name, given.array(name));
  Attended engine = attend(given.array("Q"), given.array("K"), given.array("V"), {}, pool);
  const Array by_hand = product(softmax_rows(engine.scaled), given.array("V"));
  add_number(told, "formula_difference", largest_difference(by_hand, engine.output));
  add(told, std::move(engine), {});
}

double mean_square(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number * number;
  return sum / static_cast<double>(numbers.size());
}

struct Sharpness {
  double largest = 0, gradient = 0;  // means over rows
};
// How far softmax is from giving everything to one key; its gradient is a norm over all pairs of weights and scores.
Sharpness mean_sharpness(const Array& weights) {
  Sharpness mean;
  const std::int64_t n = weights.width();
  for (std::int64_t row = 0; row < weights.height(); ++row) {
    const double* const w = weights.numbers.data() + row * n;
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) squares += std::pow(w[i] * ((i == j ? 1 : 0) - w[j]), 2);
    mean.largest += *std::max_element(w, w + n) / static_cast<double>(weights.height());
    mean.gradient += std::sqrt(squares) / static_cast<double>(weights.height());
  }
  return mean;
}

Array first_rows(const Array& matrix, std::int64_t count) {
  return {{count, matrix.width()}, {matrix.numbers.begin(), matrix.numbers.begin() + count * matrix.width()}};
}

// Random queries and keys: how large products become, and what softmax makes of them.
void scaling(Told& told, const Given& given, ThreadPool& pool) {
  constexpr std::int64_t kPairs = 1000, kKeys = 6;
  const std::int64_t d_k = given.whole("d_k");
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  const Array q = normal({kPairs, d_k}, random), k = normal({kPairs, d_k}, random);
  std::vector<double> products(static_cast<std::size_t>(kPairs));
  for (std::size_t n = 0; n < q.numbers.size(); ++n)
    products[n / static_cast<std::size_t>(d_k)] += q.numbers[n] * k.numbers[n];
  const double root = std::sqrt(static_cast<double>(d_k));
  add_number(told, "d_k", static_cast<double>(d_k));
  add_number(told, "queries", static_cast<double>(kPairs));
  add_number(told, "variance", mean_square(products));
  add_number(told, "scaled_variance", mean_square(products) / static_cast<double>(d_k));
  const Array keys = first_rows(k, kKeys);
  for (const bool scaled : {false, true}) {
    const Array weights = attend(q, keys, keys, {.scale = scaled ? 1 / root : 1}, pool).weights;
    const std::string name = scaled ? "scaled_" : "unscaled_";
    const Sharpness found = mean_sharpness(weights);
    told.arrays.add(name + "weights", first_rows(weights, 4).named(numbered("query ", 4), numbered("key ", kKeys)));
    add_number(told, name + "largest", found.largest);
    add_number(told, name + "gradient", found.gradient);
  }
}

// Shares, emphasis, and a slope everywhere.
void roles(Told& told, const Given& given) {
  const Array& scores = given.array("scores_of_softmax");
  const Array weights = softmax_rows(scores);
  Array plain = times(scores, 1 / row_sums(scores).numbers[0]);
  told.arrays.add("softmax_scores", scores);
  told.arrays.add("softmax", Array(weights).from({Made::By::rows, "softmax_scores"}));
  told.arrays.add("plain_shares", std::move(plain).from({Made::By::rows, "softmax_scores"}));
  add_number(told, "softmax_sum", row_sums(weights).numbers[0]);
  constexpr double kStep = 1e-4;
  Array moved = scores;
  moved.numbers[0] += kStep;
  add_number(told, "slope", weights.numbers[0] * (1 - weights.numbers[0]));
  add_number(told, "measured_slope", (softmax_rows(moved).numbers[0] - weights.numbers[0]) / kStep);
}

void self_and_cross(Told& told, const Given& given, ThreadPool& pool) {
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  const Array own = normal({3, 4}, random), other = normal({5, 4}, random);
  told.arrays.add("self_weights", attend(own, own, own, {}, pool).weights);
  told.arrays.add("cross_weights", attend(own, other, other, {}, pool).weights);
}

// What each head of a trained layer looks at: the token before, itself, the token behind.
void learned_heads(Told& told, const model::Reader& bert, const Given& given, ThreadPool& pool) {
  const insight::RecordedSpecimen specimen(
      model::read(bert, {.text = given.text("text"), .pair = {}, .target = {}}, {}, pool));
  const std::int64_t layer = given.whole("layer"), heads = specimen.stack(Kind::self).heads;
  insight::need_index("layer", layer, specimen.stack(Kind::self).layers);
  Array table = Array::zeros({heads, 3});
  for (const insight::HeadStatistics& head : insight::statistics(specimen, {}, pool)) {
    if (head.name.layer != layer) continue;
    for (std::int64_t o = -1; o <= 1; ++o) table.at(head.name.head, o + 1) = head.shares.offset(o);
  }
  add_number(told, "layer", static_cast<double>(layer));
  told.arrays.add("learned", std::move(table).named(numbered("head ", heads), {"before", "itself", "behind"}));
}

// How far the states of a text's tokens move when a word is put behind it.
double moved_by_more(const model::Reader& reader, const std::string& text, const std::string& longer,
                     ThreadPool& pool) {
  const auto states = [&](const std::string& of) {
    return reader.model->read(model::Batch(reader.tokenizer.ids(of, true)), {.pool = pool});
  };
  const nn::Matrix shorter = states(text), all = states(longer);
  double most = 0;
  for (std::int64_t n = 0; n < shorter.rows() * shorter.columns(); ++n)
    most = std::max(most, std::abs(static_cast<double>(shorter.data()[n]) - all.data()[n]));
  return most;
}

// The share of attention that goes to tokens that come later, the mean over all heads and tokens.
double to_the_right(const model::Reader& reader, const std::string& text, ThreadPool& pool) {
  const insight::RecordedSpecimen specimen(model::read(reader, {.text = text, .pair = {}, .target = {}}, {}, pool));
  const Array all = all_tables(specimen, Kind::self, pool);
  const std::int64_t n = all.shape[3], rows = std::ssize(all.numbers) / n;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t j = row % n + 1; j < n; ++j) sum += all.numbers[static_cast<std::size_t>(row * n + j)];
  return sum / static_cast<double>(rows);
}

void decoder_or_encoder(Told& told, const model::Reader& bert, const Given& given, ThreadPool& pool) {
  const model::Reader gpt = open_model("tiny-gpt");
  const std::string &text = given.text("text"), longer = text + given.text("more");
  told.words.add("text", text);
  told.words.add("more", given.text("more"));
  told.words.add("bert", bert.name);
  told.words.add("gpt", gpt.name);
  add_number(told, "gpt_moves", moved_by_more(gpt, text, longer, pool));
  add_number(told, "bert_moves", moved_by_more(bert, text, longer, pool));
  add_number(told, "gpt_right", to_the_right(gpt, text, pool));
  add_number(told, "bert_right", to_the_right(bert, text, pool));
  const std::vector<std::string> places = numbered("", 6);
  const auto mask = [&](const Mask& which, const char* title) {
    return picture_of(table_of(which, 6, 6).named(places, places), title);
  };
  told.figures.add("gpt_mask", mask(Causal{}, "GPT"));
  told.figures.add("bert_mask", mask({}, "BERT"));
}

// Deep-ML 53, as a last check.
void checklist(Told& told, const Given& given, ThreadPool& pool) {
  const Array &x = given.array("X53"), &w_v = given.array("W_v53");
  told.arrays.add("answer53", attend(x, x, product(x, w_v), {}, pool).output);
}

}  // namespace

Told interview(const Given& given, const Work& work) {
  Told told;
  formula(told, given, work.pool);
  scaling(told, given, work.pool);
  roles(told, given);
  self_and_cross(told, given, work.pool);
  const model::Reader bert = open_model("tiny-bert");
  learned_heads(told, bert, given, work.pool);
  decoder_or_encoder(told, bert, given, work.pool);
  checklist(told, given, work.pool);
  return told;
}

}  // namespace attn::lesson
