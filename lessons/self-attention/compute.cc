// lessons/self-attention/compute.cc - every word is projected to a query, a key and a value.
#include <cmath>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/shares.h"
#include "course/course.h"

namespace attn::course {

namespace {

constexpr std::int64_t kWords = 3, kSelfAttentionWidth = 4;

// In the order in which numpy would draw them.
struct DrawnScores {
  LessonArray x, w_q, w_k, w_v;

  DrawnScores(std::uint32_t seed, std::int64_t d_k) {
    nn::NumpyRandom random(seed);
    x = normal({kWords, kSelfAttentionWidth}, random);
    w_q = normal({kSelfAttentionWidth, d_k}, random);
    w_k = normal({kSelfAttentionWidth, d_k}, random);
    w_v = normal({kSelfAttentionWidth, d_k}, random);
  }
  [[nodiscard]] LessonArray scores() const { return transposed(product(x, w_q), product(x, w_k)); }
  [[nodiscard]] LessonAttention attended(ThreadPool& pool) const {
    return attend(product(x, w_q), product(x, w_k), product(x, w_v), {}, pool);
  }
};

double mean_of_largest(const LessonArray& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < weights.height(); ++i)
    sum += weights.at(i, by_weight(weights, i)[0]) / static_cast<double>(weights.height());
  return sum;
}

// The mean largest weight of a row over many sentences, for several widths.
LessonArray sharpness_by_width() {
  constexpr std::int64_t kWidths[] = {2, 3, 8, 64};
  constexpr std::uint32_t kSentences = 100;
  LessonArray out = LessonArray::zeros({std::ssize(kWidths), 2});
  for (std::int64_t n = 0; n < out.height(); ++n) {
    const std::int64_t d_k = kWidths[n];
    for (std::uint32_t seed = 0; seed < kSentences; ++seed) {
      const LessonArray scores = DrawnScores(seed, d_k).scores();
      out.at(n, 0) += mean_of_largest(softmax_rows(times(scores, 1 / std::sqrt(d_k)))) / kSentences;
      out.at(n, 1) += mean_of_largest(softmax_rows(scores)) / kSentences;
    }
    out.rows.push_back("d_k " + std::to_string(d_k));
  }
  out.columns = {"scaled", "unscaled"};
  return out;
}

void add_wrong_axis(LessonOutput& output) {
  const LessonArray& scaled = *output.arrays.find("scaled");
  LessonArray wrong =
      flipped(softmax_rows(flipped(scaled))).named(scaled.rows, scaled.columns).from({MadeFrom::By::each, "scaled"});
  LessonArray sums = row_sums(wrong);
  output.arrays.add("wrong_weights", std::move(wrong));
  output.arrays.add("wrong_sums", std::move(sums));
}

// softmax(Q [hole 1] [hole 2]) V with the reader's choices for the holes.
void add_holes(LessonOutput& output, const LessonInput& input) {
  const LessonArray &q = *output.arrays.find("Q"), &k = *output.arrays.find("K"), &v = *output.arrays.find("V");
  const bool turned = input.whole("hole1") == 1;
  if (!turned && q.width() != k.height())
    return static_cast<void>(output.arrays.add("hole_misfit", LessonArray::scalar(1)));
  const auto width = static_cast<double>(q.width());
  const double factors[] = {1, 1 / width, 1 / std::sqrt(width)};
  const LessonArray scores = times(turned ? transposed(q, k) : product(q, k), factors[input.whole("hole2")]);
  LessonArray result = product(softmax_rows(scores), v);
  result.rows = q.rows;
  const double miss = largest_difference(result, *output.arrays.find("output"));
  output.arrays.add("hole_output", std::move(result));
  output.arrays.add("hole_miss", LessonArray::scalar(miss));
  output.arrays.add(miss < 1e-4 ? "hole_right" : "hole_wrong", LessonArray::scalar(1));
}

void add_five_words(LessonOutput& output, const LessonInput& input, std::uint32_t seed, ThreadPool& pool) {
  const std::vector<std::string>& words = input.words("words");
  nn::NumpyRandom random(seed);
  const LessonArray x = normal({std::ssize(words), std::ssize(words)}, random);
  output.arrays.add("five_X", LessonArray(x).named(words, {}));
  add(output, attend(x, x, x, {}, pool),
      {.q = "five_X", .k = "five_X", .v = "five_X", .prefix = "five_", .queries = words, .keys = words});
  const LessonArray& weights = *output.arrays.find("five_weights");
  output.words.add("five_bars", bar_lines(weights, 40));
  figure::Heatmap picture =
      heatmap_of(weights, "Self-Attention Weights Visualization", {.cmap = "YlOrRd", .range = std::nullopt});
  picture.x_label = "Key (被关注的词)";
  picture.y_label = "Query (当前词)";
  picture.bar_label = "Attention Weight";
  picture.values = true;
  output.figures.add("words", std::move(picture));
}

}  // namespace

LessonOutput self_attention(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const std::vector<std::string>& names = input.words("names");
  const auto seed = static_cast<std::uint32_t>(input.whole("seed"));
  const std::int64_t d_k = input.whole("d_k");
  const DrawnScores drawn(seed, d_k);
  output.arrays.add("seed", LessonArray::scalar(seed));
  output.arrays.add("d_k", LessonArray::scalar(static_cast<double>(d_k)));
  output.arrays.add("root", LessonArray::scalar(std::sqrt(static_cast<double>(d_k))));
  output.arrays.add("X", LessonArray(drawn.x).named(names, {}));
  output.arrays.add("W_q", drawn.w_q);
  output.arrays.add("W_k", drawn.w_k);
  output.arrays.add("W_v", drawn.w_v);
  output.arrays.add("Q", product(drawn.x, drawn.w_q).named(names, {}).from({MadeFrom::By::product, "X", "W_q"}));
  output.arrays.add("K", product(drawn.x, drawn.w_k).named(names, {}).from({MadeFrom::By::product, "X", "W_k"}));
  output.arrays.add("V", product(drawn.x, drawn.w_v).named(names, {}).from({MadeFrom::By::product, "X", "W_v"}));
  add(output, drawn.attended(work.pool), {.queries = names, .keys = names});
  const LessonArray& weights = *output.arrays.find("weights");
  LessonArray sums = row_sums(weights);
  output.words.add("shares", percent_lines(weights));
  output.arrays.add("away", LessonArray::scalar(weights.at(2, 0) + weights.at(2, 1)));
  output.arrays.add("row_sums", std::move(sums));
  add_wrong_axis(output);
  for (const std::int64_t other : {2, 8})
    output.arrays.add("weights_" + std::to_string(other),
                      DrawnScores(seed, other).attended(work.pool).weights.named(names, names));
  // For seed 42 and d_k 3, whatever the reader sets: the text compares them with published numbers.
  output.arrays.add("known_weights", DrawnScores(42, 3).attended(work.pool).weights.named(names, names));
  output.arrays.add("sharpness", sharpness_by_width());
  add_five_words(output, input, seed, work.pool);
  add_holes(output, input);
  return output;
}

}  // namespace attn::course
