// lessons/interview/compute.cc - common interview questions, each answer with a computation that proves it.
#include <algorithm>
#include <cmath>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"
#include "insight/statistics/statistics.h"

namespace attn::course {

namespace {

using insight::Kind;

// The formula, step by step in double precision, against the engine.
void formula(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  for (const char* name : {"Q", "K", "V"}) output.arrays.add(name, input.array(name));
  LessonAttention engine = attend(input.array("Q"), input.array("K"), input.array("V"), {}, pool);
  const LessonArray by_hand = product(softmax_rows(engine.scaled), input.array("V"));
  add_number(output, "formula_difference", largest_difference(by_hand, engine.result));
  add(output, std::move(engine), {});
}

double mean_square(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number * number;
  return sum / static_cast<double>(numbers.size());
}

struct Sharpness {
  double largest = 0, gradient = 0;  // means over rows
};
// The largest weight of softmax, and the norm of its Jacobian over all pairs of weights and scores.
Sharpness mean_sharpness(const LessonArray& weights) {
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

LessonArray first_rows(const LessonArray& matrix, std::int64_t count) {
  return {{count, matrix.width()}, {matrix.numbers.begin(), matrix.numbers.begin() + count * matrix.width()}};
}

// Random queries and keys: the size of their products, and the softmax of these.
void scaling(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  constexpr std::int64_t kPairs = 1000, kKeys = 6;
  const std::int64_t d_k = input.whole("d_k");
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray q = normal({kPairs, d_k}, random), k = normal({kPairs, d_k}, random);
  std::vector<double> products(static_cast<std::size_t>(kPairs));
  for (std::size_t n = 0; n < q.numbers.size(); ++n)
    products[n / static_cast<std::size_t>(d_k)] += q.numbers[n] * k.numbers[n];
  const double root = std::sqrt(static_cast<double>(d_k));
  add_number(output, "d_k", static_cast<double>(d_k));
  add_number(output, "queries", static_cast<double>(kPairs));
  add_number(output, "variance", mean_square(products));
  add_number(output, "scaled_variance", mean_square(products) / static_cast<double>(d_k));
  const LessonArray keys = first_rows(k, kKeys);
  for (const bool scaled : {false, true}) {
    const LessonArray weights = attend(q, keys, keys, {.scale = scaled ? 1 / root : 1}, pool).weights;
    const std::string name = scaled ? "scaled_" : "unscaled_";
    const Sharpness found = mean_sharpness(weights);
    output.arrays.add(name + "weights", first_rows(weights, 4).named(numbered("query ", 4), numbered("key ", kKeys)));
    add_number(output, name + "largest", found.largest);
    add_number(output, name + "gradient", found.gradient);
  }
}

// Softmax against dividing by the sum: shares, emphasis, and the slope, by formula and measured.
void roles(LessonOutput& output, const LessonInput& input) {
  const LessonArray& scores = input.array("scores_of_softmax");
  const LessonArray weights = softmax_rows(scores);
  LessonArray plain = times(scores, 1 / row_sums(scores).numbers[0]);
  output.arrays.add("softmax_scores", scores);
  output.arrays.add("softmax", LessonArray(weights).from({MadeFrom::By::rows, "softmax_scores"}));
  output.arrays.add("plain_shares", std::move(plain).from({MadeFrom::By::rows, "softmax_scores"}));
  add_number(output, "softmax_sum", row_sums(weights).numbers[0]);
  constexpr double kStep = 1e-4;
  LessonArray moved = scores;
  moved.numbers[0] += kStep;
  add_number(output, "slope", weights.numbers[0] * (1 - weights.numbers[0]));
  add_number(output, "measured_slope", (softmax_rows(moved).numbers[0] - weights.numbers[0]) / kStep);
}

void self_and_cross(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray own = normal({3, 4}, random), other = normal({5, 4}, random);
  output.arrays.add("self_weights", attend(own, own, own, {}, pool).weights);
  output.arrays.add("cross_weights", attend(own, other, other, {}, pool).weights);
}

// The attention of each head of a trained layer to the previous token, the token itself and the next.
void learned_heads(LessonOutput& output, const model::Reader& bert, const LessonInput& input, ThreadPool& pool) {
  const insight::RecordedTables tables(
      model::read(bert, {.text = input.text("text"), .pair = {}, .target = {}}, {}, pool));
  const std::int64_t layer = input.whole("layer"), heads = tables.stack(Kind::self).heads;
  insight::need_index("layer", layer, tables.stack(Kind::self).layers);
  LessonArray table = LessonArray::zeros({heads, 3});
  for (const insight::HeadStatistics& head : insight::statistics(tables, {}, pool)) {
    if (head.name.layer != layer) continue;
    for (std::int64_t o = -1; o <= 1; ++o) table.at(head.name.head, o + 1) = head.shares.offset(o);
  }
  add_number(output, "layer", static_cast<double>(layer));
  output.arrays.add("learned", std::move(table).named(numbered("head ", heads), {"before", "itself", "behind"}));
}

// How far the states of a text's tokens move when a word is appended.
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

// The share of attention on later tokens, the mean over all heads and tokens.
double to_the_right(const model::Reader& reader, const std::string& text, ThreadPool& pool) {
  const insight::RecordedTables tables(model::read(reader, {.text = text, .pair = {}, .target = {}}, {}, pool));
  const LessonArray all = all_tables(tables, Kind::self, pool);
  const std::int64_t n = all.shape[3], rows = std::ssize(all.numbers) / n;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t j = row % n + 1; j < n; ++j) sum += all.numbers[static_cast<std::size_t>(row * n + j)];
  return sum / static_cast<double>(rows);
}

void decoder_or_encoder(LessonOutput& output, const model::Reader& bert, const LessonInput& input, ThreadPool& pool) {
  const model::Reader gpt = open_model("tiny-gpt");
  const std::string &text = input.text("text"), longer = text + input.text("more");
  output.words.add("text", text);
  output.words.add("more", input.text("more"));
  output.words.add("bert", bert.name);
  output.words.add("gpt", gpt.name);
  add_number(output, "gpt_moves", moved_by_more(gpt, text, longer, pool));
  add_number(output, "bert_moves", moved_by_more(bert, text, longer, pool));
  add_number(output, "gpt_right", to_the_right(gpt, text, pool));
  add_number(output, "bert_right", to_the_right(bert, text, pool));
  const std::vector<std::string> places = numbered("", 6);
  const auto mask = [&](const Mask& which, const char* title) {
    return picture_of(table_of(which, 6, 6).named(places, places), title);
  };
  output.figures.add("gpt_mask", mask(Causal{}, "GPT"));
  output.figures.add("bert_mask", mask({}, "BERT"));
}

// Deep-ML 53, as a last check.
void checklist(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const LessonArray &x = input.array("X53"), &w_v = input.array("W_v53");
  output.arrays.add("answer53", attend(x, x, product(x, w_v), {}, pool).result);
}

}  // namespace

LessonOutput interview(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  formula(output, input, work.pool);
  scaling(output, input, work.pool);
  roles(output, input);
  self_and_cross(output, input, work.pool);
  const model::Reader bert = open_model("tiny-bert");
  learned_heads(output, bert, input, work.pool);
  decoder_or_encoder(output, bert, input, work.pool);
  checklist(output, input, work.pool);
  return output;
}

}  // namespace attn::course
