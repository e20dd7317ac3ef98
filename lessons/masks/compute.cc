// lessons/masks/compute.cc - who may look at whom: causal, padding, windows, tables, and what goes wrong with them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/mask.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"
#include "insight/statistics/mask_facts.h"

namespace attn::lesson {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kPad = 0;

void draw_mask(Told& told, const std::string& name, Array table, std::string title) {
  told.figures.add(name, picture_of(table, std::move(title)));
  told.arrays.add(name + "_pairs", Array::scalar(static_cast<double>(std::ranges::count(table.numbers, 1.0))));
  told.arrays.add(name, std::move(table));
}

Array with_places(Array table) {
  const std::int64_t rows = table.shape[table.shape.size() - 2], columns = table.shape.back();
  return std::move(table).named(numbered("", rows), numbered("", columns));
}

void causal_table(Told& told) {
  Array added = table_of(Causal{}, 4, 4);
  for (double& number : added.numbers) number = number == 1 ? 0 : kNever;
  told.arrays.add("added4", with_places(std::move(added)));
  draw_mask(told, "causal5", with_places(table_of(Causal{}, 5, 5)), "causal");
}

Mask padding_of(const Array& ids) {
  if (ids.rank() != 2) throw std::invalid_argument("ids are [sequences, tokens], not " + shape_text(ids.shape));
  const std::vector<std::int64_t> whole(ids.numbers.begin(), ids.numbers.end());
  return padding_ids(View<const std::int64_t, 2>(whole.data(), {ids.height(), ids.width()}), kPad);
}

// The mask of every sequence: [B, rows, M].
Array tables_of(const Mask& mask, std::int64_t sequences, std::int64_t rows, std::int64_t keys) {
  Array all = Array::zeros({sequences, rows, keys});
  auto to = all.numbers.begin();
  for (std::int64_t b = 0; b < sequences; ++b) to = std::ranges::copy(table_of(mask, rows, keys, b).numbers, to).out;
  return all;
}

void padding(Told& told, const Given& given) {
  for (const char* name : {"ids1", "ids2"}) {
    const Array& ids = given.array(name);
    told.arrays.add(name, Array(ids).named(numbered("text ", ids.height()), {}));
    Array mask = tables_of(padding_of(ids), ids.height(), 1, ids.width());
    told.figures.add(std::string("padding_") + name,
                     picture_of(Array({ids.height(), ids.width()}, mask.numbers, numbered("text ", ids.height()),
                                      numbered("", ids.width())),
                                "padding"));
    told.arrays.add(std::string("padding_") + name, std::move(mask));
  }
  const Array& ids = given.array("ids3");
  told.arrays.add("ids3", Array(ids).named(numbered("text ", ids.height()), {}));
  Array combined = with_places(tables_of(padding_of(ids) & Causal{}, ids.height(), ids.width(), ids.width()));
  told.figures.add("combined", picture_of(slice(combined, 0), "causal & padding"));
  told.arrays.add("combined", std::move(combined));
}

// Which share of all pairs a mask keeps, for longer and longer texts.
Array densities(const Mask& mask, const std::vector<double>& lengths) {
  Array out = Array::vector(lengths);
  for (double& n : out.numbers) {
    const auto length = static_cast<std::int64_t>(n);
    n = static_cast<double>(insight::mask_facts(mask, length, length).pairs) / (n * n);
  }
  return out;
}

void sparse(Told& told, const Given& given) {
  const std::int64_t n = given.whole("n"), width = given.whole("window"), stride = given.whole("stride"),
                     tokens = given.whole("tokens");
  const Mask near = Window(width), far = Sparse(stride), back = Causal{} & near;
  draw_mask(told, "window", with_places(table_of(near, n, n)), near.text());
  draw_mask(told, "sparse", table_of(far, tokens, tokens), far.text());
  told.arrays.add("back_pairs", Array::scalar(static_cast<double>(insight::mask_facts(back, n, n).pairs)));
  const double free = 1 - 1 / static_cast<double>(stride);
  told.arrays.add("limit", Array::scalar(1 - free * free));
  const std::vector<double> lengths = {16, 64, 256, 1024, 4096};
  told.arrays.add("lengths", Array::vector(lengths));
  const Array of_near = densities(near, lengths), of_far = densities(far, lengths);
  told.figures.add("density", figure::Curves{.curves = {{far.text(), lengths, of_far.numbers},
                                                        {near.text(), lengths, of_near.numbers}},
                                             .title = "share of pairs",
                                             .x_label = "n",
                                             .y_label = "share",
                                             .caption = {},
                                             .log_x = true});
  told.arrays.add("sparse_density", of_far);
  told.arrays.add("window_density", of_near);
}

struct Words3 {
  Array q, k, v;
};

Mask added_mask(const Array& table) {
  const nn::Matrix numbers = table.matrix();
  return additive(View<const float, 4>(numbers.data(), {1, 1, numbers.rows(), numbers.columns()}));
}

Words3 project(Told& told, const Given& given) {
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  const std::vector<std::string> words = numbered("word ", 3);
  const Array x = told.arrays.add("X", normal({3, 4}, random).named(words, {}));
  const auto projected = [&](const char* w, const char* name) {
    const Array matrix = told.arrays.add(w, normal({4, 3}, random));
    return told.arrays.add(name, product(x, matrix).named(words, {}).from({Made::By::product, "X", w}));
  };
  Words3 out;
  out.q = projected("W_q", "Q");
  out.k = projected("W_k", "K");
  out.v = projected("W_v", "V");
  return out;
}

void additive_table(Told& told, const Given& given, const Words3& words, ThreadPool& pool) {
  const Array& added = given.array("added");
  if (added.shape != std::vector<std::int64_t>{3, 3})
    throw std::invalid_argument("added is [3, 3], a number for each pair of words, not " + shape_text(added.shape));
  told.arrays.add("added", Array(added).named(numbered("word ", 3), numbered("word ", 3)));
  Attended free = attend(words.q, words.k, words.v, {}, pool);
  const Array masked = sum(free.scaled, added);
  add(told, std::move(free), {.queries = numbered("word ", 3), .keys = numbered("word ", 3)});
  told.arrays.add(
      "masked",
      Array(masked).named(numbered("word ", 3), numbered("word ", 3)).from({Made::By::each, "scaled", "added"}));
  Attended with = attend(words.q, words.k, words.v, {.mask = added_mask(added)}, pool);
  told.arrays.add(
      "masked_weights",
      std::move(with.weights).named(numbered("word ", 3), numbered("word ", 3)).from({Made::By::rows, "masked"}));
  told.arrays.add(
      "masked_output",
      std::move(with.output).named(numbered("word ", 3), {}).from({Made::By::product, "masked_weights", "V"}));
}

// What a program does that adds -1e9 in float32 and knows nothing more of the mask.
Array softmax_of_floats(const Array& scores, const Array& added) {
  Array out = scores;
  for (std::int64_t i = 0; i < out.height(); ++i) {
    std::vector<float> row;
    for (std::int64_t j = 0; j < out.width(); ++j)
      row.push_back(static_cast<float>(scores.at(i, j)) + static_cast<float>(added.at(i, j)));
    const float peak = std::ranges::max(row);
    float total = 0;
    for (float& number : row) total += number = std::exp(number - peak);
    for (std::int64_t j = 0; j < out.width(); ++j)
      out.at(i, j) = static_cast<double>(row[static_cast<std::size_t>(j)] / total);
  }
  return out;
}

// Queries that may see no key.
Array blind_rows(const Array& table) {
  Array out = row_sums(table);
  std::vector<double> found;
  for (std::size_t i = 0; i < out.numbers.size(); ++i)
    if (out.numbers[i] == 0) found.push_back(static_cast<double>(i));
  return Array::vector(std::move(found));
}

void blind(Told& told, const Words3& words, ThreadPool& pool) {
  Array added = Array::zeros({3, 3});
  for (std::int64_t j = 0; j < 3; ++j) added.at(1, j) = -1e9;
  const Mask mask = added_mask(added);
  Attended seen = attend(words.q, words.k, words.v, {.mask = mask}, pool);
  const std::vector<std::string> names = numbered("word ", 3);
  told.arrays.add("float32_weights", softmax_of_floats(seen.scaled, added).named(names, names));
  told.arrays.add("blind_weights", std::move(seen.weights).named(names, names));
  told.arrays.add("blind_output", std::move(seen.output).named(names, {}));
  const Array rows = blind_rows(table_of(mask, 3, 3));
  told.arrays.add("blind_count", Array::scalar(static_cast<double>(std::ssize(rows.numbers))));
  told.arrays.add("blind_rows", rows);
}

// Padding and causal together; and the same with the padding's axis in the wrong place.
void both(Told& told, const Given& given, ThreadPool& pool) {
  const Array& ids = given.array("ids2");
  const std::int64_t sequences = ids.height(), tokens = ids.width(), width = 8;
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  const Array x = told.arrays.add("tokens", normal({sequences, tokens, width}, random));
  Options options;
  options.mask = padding_of(ids) & Causal{};
  AttendedMany seen = attend_many(x, x, x, options, pool);
  told.arrays.add("both_sums", row_sums(seen.weights));
  told.figures.add("both", heatmap_of(with_places(slice(seen.weights, 0)), "causal & padding, text 0",
                                      {.cmap = "Blues", .range = figure::Range{0, 1}}));
  told.arrays.add("both_weights", with_places(std::move(seen.weights)));
  told.arrays.add("both_output", std::move(seen.output));

  Array wrong = Array::zeros({sequences, sequences, tokens, tokens});
  auto to = wrong.numbers.begin();
  for (std::int64_t b = 0; b < sequences; ++b) {
    const Array keys = table_of(padding_of(ids), 1, tokens, b);
    for (std::int64_t c = 0; c < sequences; ++c) {
      const Array of_c = slice(x, c);
      Array scores = times(transposed(of_c, of_c), 1 / std::sqrt(static_cast<double>(width)));
      for (std::int64_t i = 0; i < tokens; ++i)
        for (std::int64_t j = 0; j < tokens; ++j)
          if (keys.at(0, j) == 0) scores.at(i, j) = kNever;
      to = std::ranges::copy(softmax_rows(scores).numbers, to).out;
    }
  }
  told.arrays.add("wrong_weights", with_places(std::move(wrong)));
}

void more(Told& told, const Given& given, ThreadPool& pool) {
  const std::int64_t n = given.whole("n");
  std::vector<std::int64_t> documents;
  for (std::int64_t i = 0; i < n; ++i) documents.push_back(i < 3 ? 0 : 1);
  const Mask prefix = Causal{} | Prefix(3), document = Causal{} & Document(documents), block = attn::Block(4);
  draw_mask(told, "prefix", with_places(table_of(prefix, n, n)), prefix.text());
  draw_mask(told, "document", with_places(table_of(document, n, n)), document.text());
  draw_mask(told, "block", with_places(table_of(block, n, n)), block.text());

  const Mask yours = parse_mask(given.text("mask"));
  yours.check({1, 1, n, n});
  told.words.add("yours_text", yours.text());
  const Array table = with_places(table_of(yours, n, n));
  told.arrays.add("yours_blind", Array::scalar(static_cast<double>(std::ssize(blind_rows(table).numbers))));
  draw_mask(told, "yours", table, yours.text());
  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  const Array x = told.arrays.add("yours_X", normal({n, 8}, random));
  Attended seen = attend(x, x, x, {.mask = yours}, pool);
  told.figures.add("yours_weights", heatmap_of(with_places(seen.weights), yours.text(),
                                               {.cmap = "Blues", .range = figure::Range{0, 1}}));
  told.arrays.add("yours_weights", with_places(std::move(seen.weights)));
}

}  // namespace

Told masks(const Given& given, const Work& work) {
  Told told;
  told.arrays.add("n", Array::scalar(static_cast<double>(given.whole("n"))));
  told.arrays.add("width", Array::scalar(static_cast<double>(given.whole("window"))));
  told.arrays.add("stride", Array::scalar(static_cast<double>(given.whole("stride"))));
  causal_table(told);
  padding(told, given);
  sparse(told, given);
  const Words3 words = project(told, given);
  additive_table(told, given, words, work.pool);
  blind(told, words, work.pool);
  both(told, given, work.pool);
  more(told, given, work.pool);
  return told;
}

}  // namespace attn::lesson
