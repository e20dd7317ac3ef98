// lessons/masks/compute.cc - which query may see which key: causal, padding, windows, tables, and their pitfalls.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/mask.h"
#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"
#include "insight/statistics/mask_facts.h"

namespace attn::course {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kPad = 0;

void draw_mask(LessonOutput& output, const std::string& name, LessonArray table, std::string title) {
  output.figures.add(name, picture_of(table, std::move(title)));
  output.arrays.add(name + "_pairs", LessonArray::scalar(static_cast<double>(std::ranges::count(table.numbers, 1.0))));
  output.arrays.add(name, std::move(table));
}

LessonArray with_places(LessonArray table) {
  const std::int64_t rows = table.shape[table.shape.size() - 2], columns = table.shape.back();
  return std::move(table).named(numbered("", rows), numbered("", columns));
}

void causal_table(LessonOutput& output) {
  LessonArray added = table_of(Causal{}, 4, 4);
  for (double& number : added.numbers) number = number == 1 ? 0 : kNever;
  output.arrays.add("added4", with_places(std::move(added)));
  draw_mask(output, "causal5", with_places(table_of(Causal{}, 5, 5)), "causal");
}

Mask padding_of(const LessonArray& ids) {
  if (ids.rank() != 2) throw std::invalid_argument("ids must be [sequences, tokens], not " + shape_text(ids.shape));
  const std::vector<std::int64_t> whole = whole_numbers(ids, "ids");
  return padding_ids(View<const std::int64_t, 2>(whole.data(), {ids.height(), ids.width()}), kPad);
}

// The mask of every sequence: [B, rows, M].
LessonArray tables_of(const Mask& mask, std::int64_t sequences, std::int64_t rows, std::int64_t keys) {
  LessonArray all = LessonArray::zeros({sequences, rows, keys});
  auto to = all.numbers.begin();
  for (std::int64_t b = 0; b < sequences; ++b) to = std::ranges::copy(table_of(mask, rows, keys, b).numbers, to).out;
  return all;
}

void padding(LessonOutput& output, const LessonInput& input) {
  for (const char* name : {"ids1", "ids2"}) {
    const LessonArray& ids = input.array(name);
    output.arrays.add(name, LessonArray(ids).named(numbered("text ", ids.height()), {}));
    LessonArray mask = tables_of(padding_of(ids), ids.height(), 1, ids.width());
    output.figures.add(std::string("padding_") + name,
                       picture_of(LessonArray({ids.height(), ids.width()}, mask.numbers,
                                              numbered("text ", ids.height()), numbered("", ids.width())),
                                  "padding"));
    output.arrays.add(std::string("padding_") + name, std::move(mask));
  }
  const LessonArray& ids = input.array("ids3");
  output.arrays.add("ids3", LessonArray(ids).named(numbered("text ", ids.height()), {}));
  LessonArray combined = with_places(tables_of(padding_of(ids) & Causal{}, ids.height(), ids.width(), ids.width()));
  output.figures.add("combined", picture_of(slice(combined, 0), "causal & padding"));
  output.arrays.add("combined", std::move(combined));
}

// The share of all pairs that a mask keeps, for growing lengths.
LessonArray densities(const Mask& mask, const std::vector<double>& lengths) {
  LessonArray out = LessonArray::vector(lengths);
  for (double& n : out.numbers) {
    const auto length = static_cast<std::int64_t>(n);
    n = static_cast<double>(insight::mask_facts(mask, length, length).pairs) / (n * n);
  }
  return out;
}

void sparse(LessonOutput& output, const LessonInput& input) {
  const std::int64_t n = input.whole("n"), width = input.whole("window"), stride = input.whole("stride"),
                     tokens = input.whole("tokens");
  const Mask near = Window(width), far = Sparse(stride), back = Causal{} & near;
  draw_mask(output, "window", with_places(table_of(near, n, n)), near.text());
  draw_mask(output, "sparse", table_of(far, tokens, tokens), far.text());
  output.arrays.add("back_pairs", LessonArray::scalar(static_cast<double>(insight::mask_facts(back, n, n).pairs)));
  const double free = 1 - 1 / static_cast<double>(stride);
  output.arrays.add("limit", LessonArray::scalar(1 - free * free));
  const std::vector<double> lengths = {16, 64, 256, 1024, 4096};
  output.arrays.add("lengths", LessonArray::vector(lengths));
  const LessonArray of_near = densities(near, lengths), of_far = densities(far, lengths);
  output.figures.add("density", figure::Curves{.curves = {{far.text(), lengths, of_far.numbers},
                                                          {near.text(), lengths, of_near.numbers}},
                                               .title = "share of pairs",
                                               .x_label = "n",
                                               .y_label = "share",
                                               .caption = {},
                                               .log_x = true});
  output.arrays.add("sparse_density", of_far);
  output.arrays.add("window_density", of_near);
}

struct Words3 {
  LessonArray q, k, v;
};

Mask added_mask(const LessonArray& table) {
  const nn::Matrix numbers = table.matrix();
  return additive(View<const float, 4>(numbers.data(), {1, 1, numbers.rows(), numbers.columns()}));
}

Words3 project(LessonOutput& output, const LessonInput& input) {
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const std::vector<std::string> words = numbered("word ", 3);
  const LessonArray x = output.arrays.add("X", normal({3, 4}, random).named(words, {}));
  const auto projected = [&](const char* w, const char* name) {
    const LessonArray matrix = output.arrays.add(w, normal({4, 3}, random));
    return output.arrays.add(name, product(x, matrix).named(words, {}).from({MadeFrom::By::product, "X", w}));
  };
  Words3 out;
  out.q = projected("W_q", "Q");
  out.k = projected("W_k", "K");
  out.v = projected("W_v", "V");
  return out;
}

void additive_table(LessonOutput& output, const LessonInput& input, const Words3& words, ThreadPool& pool) {
  const LessonArray& added = input.array("added");
  if (added.shape != std::vector<std::int64_t>{3, 3})
    throw std::invalid_argument("added must be [3, 3], one number per pair of words, not " + shape_text(added.shape));
  output.arrays.add("added", LessonArray(added).named(numbered("word ", 3), numbered("word ", 3)));
  LessonAttention free = attend(words.q, words.k, words.v, {}, pool);
  const LessonArray masked = sum(free.scaled, added);
  add(output, std::move(free), {.queries = numbered("word ", 3), .keys = numbered("word ", 3)});
  output.arrays.add("masked", LessonArray(masked)
                                  .named(numbered("word ", 3), numbered("word ", 3))
                                  .from({MadeFrom::By::each, "scaled", "added"}));
  LessonAttention with = attend(words.q, words.k, words.v, {.mask = added_mask(added)}, pool);
  output.arrays.add(
      "masked_weights",
      std::move(with.weights).named(numbered("word ", 3), numbered("word ", 3)).from({MadeFrom::By::rows, "masked"}));
  output.arrays.add(
      "masked_output",
      std::move(with.result).named(numbered("word ", 3), {}).from({MadeFrom::By::product, "masked_weights", "V"}));
}

// Masking by adding -1e9 in float32, as many programs do.
LessonArray softmax_of_floats(const LessonArray& scores, const LessonArray& added) {
  LessonArray out = scores;
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
LessonArray blind_rows(const LessonArray& table) {
  LessonArray out = row_sums(table);
  std::vector<double> found;
  for (std::size_t i = 0; i < out.numbers.size(); ++i)
    if (out.numbers[i] == 0) found.push_back(static_cast<double>(i));
  return LessonArray::vector(std::move(found));
}

void blind(LessonOutput& output, const Words3& words, ThreadPool& pool) {
  LessonArray added = LessonArray::zeros({3, 3});
  for (std::int64_t j = 0; j < 3; ++j) added.at(1, j) = -1e9;
  const Mask mask = added_mask(added);
  LessonAttention seen = attend(words.q, words.k, words.v, {.mask = mask}, pool);
  const std::vector<std::string> names = numbered("word ", 3);
  output.arrays.add("float32_weights", softmax_of_floats(seen.scaled, added).named(names, names));
  output.arrays.add("blind_weights", std::move(seen.weights).named(names, names));
  output.arrays.add("blind_output", std::move(seen.result).named(names, {}));
  const LessonArray rows = blind_rows(table_of(mask, 3, 3));
  output.arrays.add("blind_count", LessonArray::scalar(static_cast<double>(std::ssize(rows.numbers))));
  output.arrays.add("blind_rows", rows);
}

// Padding and causal together; and the same with the padding's axis in the wrong place.
void both(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const LessonArray& ids = input.array("ids2");
  const std::int64_t sequences = ids.height(), tokens = ids.width(), width = 8;
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray x = output.arrays.add("tokens", normal({sequences, tokens, width}, random));
  Options options;
  options.mask = padding_of(ids) & Causal{};
  AttendedMany seen = attend_many(x, x, x, options, pool);
  output.arrays.add("both_sums", row_sums(seen.weights));
  output.figures.add("both", heatmap_of(with_places(slice(seen.weights, 0)), "causal & padding, text 0",
                                        {.cmap = "Blues", .range = figure::Range{0, 1}}));
  output.arrays.add("both_weights", with_places(std::move(seen.weights)));
  output.arrays.add("both_output", std::move(seen.result));

  LessonArray wrong = LessonArray::zeros({sequences, sequences, tokens, tokens});
  auto to = wrong.numbers.begin();
  for (std::int64_t b = 0; b < sequences; ++b) {
    const LessonArray keys = table_of(padding_of(ids), 1, tokens, b);
    for (std::int64_t c = 0; c < sequences; ++c) {
      const LessonArray of_c = slice(x, c);
      LessonArray scores = times(transposed(of_c, of_c), 1 / std::sqrt(static_cast<double>(width)));
      for (std::int64_t i = 0; i < tokens; ++i)
        for (std::int64_t j = 0; j < tokens; ++j)
          if (keys.at(0, j) == 0) scores.at(i, j) = kNever;
      to = std::ranges::copy(softmax_rows(scores).numbers, to).out;
    }
  }
  output.arrays.add("wrong_weights", with_places(std::move(wrong)));
}

void more(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const std::int64_t n = input.whole("n");
  std::vector<std::int64_t> documents;
  for (std::int64_t i = 0; i < n; ++i) documents.push_back(i < 3 ? 0 : 1);
  const Mask prefix = Causal{} | Prefix(3), document = Causal{} & Document(documents), block = attn::Block(4);
  draw_mask(output, "prefix", with_places(table_of(prefix, n, n)), prefix.text());
  draw_mask(output, "document", with_places(table_of(document, n, n)), document.text());
  draw_mask(output, "block", with_places(table_of(block, n, n)), block.text());

  const Mask yours = parse_mask(input.text("mask"));
  yours.check({1, 1, n, n});
  output.words.add("yours_text", yours.text());
  const LessonArray table = with_places(table_of(yours, n, n));
  output.arrays.add("yours_blind", LessonArray::scalar(static_cast<double>(std::ssize(blind_rows(table).numbers))));
  draw_mask(output, "yours", table, yours.text());
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray x = output.arrays.add("yours_X", normal({n, 8}, random));
  LessonAttention seen = attend(x, x, x, {.mask = yours}, pool);
  output.figures.add("yours_weights", heatmap_of(with_places(seen.weights), yours.text(),
                                                 {.cmap = "Blues", .range = figure::Range{0, 1}}));
  output.arrays.add("yours_weights", with_places(std::move(seen.weights)));
}

}  // namespace

LessonOutput masks(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  output.arrays.add("n", LessonArray::scalar(static_cast<double>(input.whole("n"))));
  output.arrays.add("width", LessonArray::scalar(static_cast<double>(input.whole("window"))));
  output.arrays.add("stride", LessonArray::scalar(static_cast<double>(input.whole("stride"))));
  causal_table(output);
  padding(output, input);
  sparse(output, input);
  const Words3 words = project(output, input);
  additive_table(output, input, words, work.pool);
  blind(output, words, work.pool);
  both(output, input, work.pool);
  more(output, input, work.pool);
  return output;
}

}  // namespace attn::course
