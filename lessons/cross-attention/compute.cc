// lessons/cross-attention/compute.cc - queries of one text, keys and values of another.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::course {

namespace {

constexpr std::int64_t kTexts = 2;

// x [B, N, C] times a random W [C, C], scaled so that the product is as large as x.
LessonArray random_projection(const LessonArray& x, nn::NumpyRandom& random) {
  const std::int64_t width = x.shape.back();
  const LessonArray w = times(normal({width, width}, random), 1 / std::sqrt(static_cast<double>(width)));
  LessonArray out = product({{x.shape[0] * x.shape[1], width}, x.numbers}, w);
  out.shape = x.shape;
  return out;
}

// The weights after dropout: some are 0, the others scaled up.
LessonArray after_dropout(LessonArray weights, const Dropout& dropout) {
  const std::vector<std::int64_t> shape = weights.shape;
  std::size_t n = 0;
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t h = 0; h < shape[1]; ++h)
      for (std::int64_t i = 0; i < shape[2]; ++i)
        for (std::int64_t j = 0; j < shape[3]; ++j, ++n)
          weights.numbers[n] *= dropout_keeps(dropout, b, h, i, j) ? 1 / (1 - static_cast<double>(dropout.rate)) : 0;
  return weights;
}

void add_range(LessonOutput& output, const std::string& name, const LessonArray& numbers) {
  const auto [least, most] = std::ranges::minmax(numbers.numbers);
  output.arrays.add(name, LessonArray::vector({least, most}));
}

LessonArray named(LessonArray weights) {
  const std::int64_t queries = weights.shape[2], keys = weights.shape[3];
  return std::move(weights).named(numbered("t", queries), numbered("s", keys));
}

figure::Grid heads_grid(const LessonArray& heads) {
  figure::Grid grid{.panels = {}, .title = "text 1", .caption = {}, .shade = {.cmap = "Blues"}};
  for (std::int64_t h = 0; h < heads.shape[0]; ++h)
    grid.panels.push_back(heatmap_of(slice(heads, h), "head " + std::to_string(h)));
  grid.x_label = "source";
  grid.y_label = "target";
  return grid;
}

// The engine's error for a mask of the other text.
std::string mask_refusal(const LessonArray& q, const LessonArray& k, const LessonArray& v, ThreadPool& pool) {
  const std::int64_t target =
      q.shape[2] == k.shape[2] ? q.shape[2] + 1 : q.shape[2];  // with equal lengths there would be no error
  const std::vector<std::uint8_t> seen(static_cast<std::size_t>(kTexts * target), 1);
  Options options;
  options.mask = padding_table(View<const std::uint8_t, 2>(seen.data(), {kTexts, target}));
  try {
    attend_many(q, k, v, options, pool);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

void add_dropout(LessonOutput& output, const AttendedMany& exact, const AttendedMany& dropped, const Dropout& dropout) {
  output.arrays.add("dropout", LessonArray::scalar(static_cast<double>(dropout.rate)));
  output.arrays.add("shown_difference", LessonArray::scalar(largest_difference(exact.weights, dropped.weights)));
  output.arrays.add("context_difference", LessonArray::scalar(largest_difference(exact.result, dropped.result)));
  LessonArray after = after_dropout(exact.weights, dropout);
  const LessonArray sums = row_sums(after);
  add_range(output, "after_sums", sums);
  figure::Bars bars{.bars = {}, .title = "row sums after dropout, text 0, head 0", .x_label = "sum", .caption = {}};
  for (std::int64_t i = 0; i < after.shape[2]; ++i)
    bars.bars.push_back({"t" + std::to_string(i), sums.numbers[static_cast<std::size_t>(i)]});
  output.figures.add("after_sums", std::move(bars));
  output.arrays.add("after_weights", named(std::move(after)));
}

}  // namespace

LessonOutput cross_attention(const LessonInput& input, const LessonWork& work) {
  const std::int64_t target = input.whole("target"), source = input.whole("source"), width = input.whole("d_model"),
                     heads = input.whole("heads"), length = std::min(input.whole("length"), source);
  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  const LessonArray encoder = normal({kTexts, source, width}, random),
                    decoder = normal({kTexts, target, width}, random);
  const LessonArray q = split_heads(random_projection(decoder, random), heads),
                    k = split_heads(random_projection(encoder, random), heads),
                    v = split_heads(random_projection(encoder, random), heads);
  LessonOutput output;
  output.words.add("of_encoder", shape_text(encoder.shape));
  output.words.add("of_decoder", shape_text(decoder.shape));
  output.words.add("of_q", shape_text(q.shape));
  output.words.add("of_k", shape_text(k.shape));
  for (const auto& [name, number] :
       {std::pair{"source", source}, {"target", target}, {"heads", heads}, {"d_k", width / heads}, {"length", length}})
    output.arrays.add(name, LessonArray::scalar(static_cast<double>(number)));

  Options options;
  options.mask = Padding({source, length});
  AttendedMany exact = attend_many(q, k, v, options, work.pool);
  options.dropout = {.rate = static_cast<float>(input.real("dropout")),
                     .seed = static_cast<std::uint64_t>(input.whole("seed"))};
  add_dropout(output, exact, attend_many(q, k, v, options, work.pool), options.dropout);
  output.words.add("refusal", mask_refusal(q, k, v, work.pool));

  const LessonArray joined = join_heads(exact.result), result = random_projection(joined, random);
  output.words.add("of_context", shape_text(exact.result.shape));
  output.words.add("of_output", shape_text(result.shape));
  output.arrays.add("output_start", {{8}, {result.numbers.begin(), result.numbers.begin() + 8}});
  add_range(output, "sums", row_sums(exact.weights));
  output.arrays.add("count", LessonArray::scalar(static_cast<double>(std::ssize(exact.weights.numbers))));
  exact.weights = named(std::move(exact.weights));
  output.figures.add("heads", heads_grid(slice(exact.weights, 1)));
  double hidden = 0;
  const LessonArray second = slice(exact.weights, 1);
  for (std::size_t n = 0; n < second.numbers.size(); ++n)
    if (static_cast<std::int64_t>(n) % source >= length) hidden += second.numbers[n];
  output.arrays.add("hidden", LessonArray::scalar(hidden));
  output.arrays.add("first_row", LessonArray({source}, slice(slice(slice(exact.weights, 1), 0), 0).numbers, {},
                                             numbered("s", source)));
  output.arrays.add("weights", std::move(exact.weights));
  return output;
}

}  // namespace attn::course
