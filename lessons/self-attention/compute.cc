// lessons/self-attention/compute.cc - every word makes a query, a key and a value of itself.
#include <cmath>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/shares.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

constexpr std::int64_t kWords = 3, kSelfAttentionWidth = 4;

// In the order in which numpy would draw them.
struct Drawn {
  Array x, w_q, w_k, w_v;

  Drawn(std::uint32_t seed, std::int64_t d_k) {
    nn::NumpyRandom random(seed);
    x = normal({kWords, kSelfAttentionWidth}, random);
    w_q = normal({kSelfAttentionWidth, d_k}, random);
    w_k = normal({kSelfAttentionWidth, d_k}, random);
    w_v = normal({kSelfAttentionWidth, d_k}, random);
  }
  [[nodiscard]] Array scores() const { return transposed(product(x, w_q), product(x, w_k)); }
  [[nodiscard]] Attended attended(ThreadPool& pool) const {
    return attend(product(x, w_q), product(x, w_k), product(x, w_v), {}, pool);
  }
};

double mean_of_largest(const Array& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < weights.height(); ++i)
    sum += weights.at(i, by_weight(weights, i)[0]) / static_cast<double>(weights.height());
  return sum;
}

// The largest weight of a row, the mean over many sentences, for several widths.
Array sharpness_by_width() {
  constexpr std::int64_t kWidths[] = {2, 3, 8, 64};
  constexpr std::uint32_t kSentences = 100;
  Array out = Array::zeros({std::ssize(kWidths), 2});
  for (std::int64_t n = 0; n < out.height(); ++n) {
    const std::int64_t d_k = kWidths[n];
    for (std::uint32_t seed = 0; seed < kSentences; ++seed) {
      const Array scores = Drawn(seed, d_k).scores();
      out.at(n, 0) += mean_of_largest(softmax_rows(times(scores, 1 / std::sqrt(d_k)))) / kSentences;
      out.at(n, 1) += mean_of_largest(softmax_rows(scores)) / kSentences;
    }
    out.rows.push_back("d_k " + std::to_string(d_k));
  }
  out.columns = {"scaled", "unscaled"};
  return out;
}

void add_wrong_axis(Told& told) {
  const Array& scaled = *told.arrays.find("scaled");
  Array wrong =
      flipped(softmax_rows(flipped(scaled))).named(scaled.rows, scaled.columns).from({Made::By::each, "scaled"});
  Array sums = row_sums(wrong);
  told.arrays.add("wrong_weights", std::move(wrong));
  told.arrays.add("wrong_sums", std::move(sums));
}

// softmax(Q [hole 1] [hole 2]) V: what the reader has put into the holes.
void add_holes(Told& told, const Given& given) {
  const Array &q = *told.arrays.find("Q"), &k = *told.arrays.find("K"), &v = *told.arrays.find("V");
  const bool turned = given.whole("hole1") == 1;
  if (!turned && q.width() != k.height()) return static_cast<void>(told.arrays.add("hole_misfit", Array::scalar(1)));
  const auto width = static_cast<double>(q.width());
  const double factors[] = {1, 1 / width, 1 / std::sqrt(width)};
  const Array scores = times(turned ? transposed(q, k) : product(q, k), factors[given.whole("hole2")]);
  Array output = product(softmax_rows(scores), v);
  output.rows = q.rows;
  const double miss = largest_difference(output, *told.arrays.find("output"));
  told.arrays.add("hole_output", std::move(output));
  told.arrays.add("hole_miss", Array::scalar(miss));
  told.arrays.add(miss < 1e-4 ? "hole_right" : "hole_wrong", Array::scalar(1));
}

void add_five_words(Told& told, const Given& given, std::uint32_t seed, ThreadPool& pool) {
  const std::vector<std::string>& words = given.words("words");
  nn::NumpyRandom random(seed);
  const Array x = normal({std::ssize(words), std::ssize(words)}, random);
  told.arrays.add("five_X", Array(x).named(words, {}));
  add(told, attend(x, x, x, {}, pool),
      {.q = "five_X", .k = "five_X", .v = "five_X", .prefix = "five_", .queries = words, .keys = words});
  const Array& weights = *told.arrays.find("five_weights");
  told.words.add("five_bars", bar_lines(weights, 40));
  figure::Heatmap picture =
      heatmap_of(weights, "Self-Attention Weights Visualization", {.cmap = "YlOrRd", .range = std::nullopt});
  picture.x_label = "Key (被关注的词)";
  picture.y_label = "Query (当前词)";
  picture.bar_label = "Attention Weight";
  picture.values = true;
  told.figures.add("words", std::move(picture));
}

}  // namespace

Told self_attention(const Given& given, const Work& work) {
  Told told;
  const std::vector<std::string>& names = given.words("names");
  const auto seed = static_cast<std::uint32_t>(given.whole("seed"));
  const std::int64_t d_k = given.whole("d_k");
  const Drawn drawn(seed, d_k);
  told.arrays.add("seed", Array::scalar(seed));
  told.arrays.add("d_k", Array::scalar(static_cast<double>(d_k)));
  told.arrays.add("root", Array::scalar(std::sqrt(static_cast<double>(d_k))));
  told.arrays.add("X", Array(drawn.x).named(names, {}));
  told.arrays.add("W_q", drawn.w_q);
  told.arrays.add("W_k", drawn.w_k);
  told.arrays.add("W_v", drawn.w_v);
  told.arrays.add("Q", product(drawn.x, drawn.w_q).named(names, {}).from({Made::By::product, "X", "W_q"}));
  told.arrays.add("K", product(drawn.x, drawn.w_k).named(names, {}).from({Made::By::product, "X", "W_k"}));
  told.arrays.add("V", product(drawn.x, drawn.w_v).named(names, {}).from({Made::By::product, "X", "W_v"}));
  add(told, drawn.attended(work.pool), {.queries = names, .keys = names});
  const Array& weights = *told.arrays.find("weights");
  Array sums = row_sums(weights);
  told.words.add("shares", percent_lines(weights));
  told.arrays.add("away", Array::scalar(weights.at(2, 0) + weights.at(2, 1)));
  told.arrays.add("row_sums", std::move(sums));
  add_wrong_axis(told);
  for (const std::int64_t other : {2, 8})
    told.arrays.add("weights_" + std::to_string(other),
                    Drawn(seed, other).attended(work.pool).weights.named(names, names));
  // Of seed 42 and d_k 3, whatever the reader has set: the text compares them with what is known.
  told.arrays.add("known_weights", Drawn(42, 3).attended(work.pool).weights.named(names, names));
  told.arrays.add("sharpness", sharpness_by_width());
  add_five_words(told, given, seed, work.pool);
  add_holes(told, given);
  return told;
}

}  // namespace attn::lesson
