// lessons/imdb/compute.cc - attention over reviews, from words to a heatmap, and the same review in a trained model.
#include <algorithm>

#include "attn/attention.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/compute/reviews.h"
#include "course/course.h"
#include "model/run/classify.h"
#include "nn/infer/embedding.h"

namespace attn::course {

namespace {

struct ReviewSizes {
  std::int64_t samples, length, width, batch;
};

// The results of one way to treat padding.
struct Seen {
  nn::Matrix weights, result;  // of the first sample
  // Shares of a word's attention, means over all words:
  double diagonal = 0;   // its own position
  double same_word = 0;  // all positions of the same word
  double on_pads = 0;
};

class ReviewAttention {
 public:
  ReviewAttention(const ReviewSizes& sizes, const ReviewWords& words, std::uint32_t seed)
      : sizes_(sizes), words_(words), table_(words.vocabulary, sizes.width) {
    // Row by row, as numpy.random.seed(S); numpy.random.randn(vocabulary, width) does.
    nn::NumpyRandom random(seed);
    for (std::int64_t i = 0; i < words.vocabulary * sizes.width; ++i)
      table_.data()[i] = static_cast<float>(random.normal());
  }

  [[nodiscard]] Seen attend(bool masked, const LessonWork& work) const {
    Seen all;
    const std::int64_t samples = std::ssize(words_.lengths);
    for (std::int64_t from = 0; from < samples; from += sizes_.batch) {
      attend(from, std::min(sizes_.batch, samples - from), masked, all, work.pool);
      base::tell(work.progress, from, samples);
    }
    std::int64_t words = 0;
    for (const std::int64_t length : words_.lengths) words += length;
    for (double* mean : {&all.diagonal, &all.same_word, &all.on_pads}) *mean /= static_cast<double>(words);
    return all;
  }

 private:
  // Query, key and value are the embedded words.
  void attend(std::int64_t from, std::int64_t size, bool masked, Seen& all, ThreadPool& pool) const {
    const std::int64_t N = sizes_.length, D = sizes_.width;
    nn::Matrix x(size * N, D), out(size * N, D), weights(size * N, N);
    nn::embed(table_.view(), {words_.ids.data() + from * N, static_cast<std::size_t>(x.rows())}, x.view());
    const View<float, 4> rows(x.data(), {size, 1, N, D});
    Options options;
    const auto first = words_.lengths.begin() + from;
    if (masked) options.mask = Padding{std::vector<std::int64_t>(first, first + size)};
    attention({rows, rows, rows}, options, View<float, 4>(out.data(), {size, 1, N, D}), {},
              View<float, 4>(weights.data(), {size, 1, N, N}), pool);
    for (std::int64_t s = 0; s < size; ++s) add(weights.row(s * N), from + s, all);
    if (from > 0) return;
    all.weights = nn::Matrix(N, N);
    all.result = nn::Matrix(N, D);
    std::copy_n(weights.data(), N * N, all.weights.data());
    std::copy_n(out.data(), N * D, all.result.data());
  }

  void add(const float* weights, std::int64_t sample, Seen& all) const {
    const std::int64_t N = sizes_.length, length = words_.lengths[static_cast<std::size_t>(sample)];
    const std::int32_t* ids = words_.ids.data() + sample * N;
    for (std::int64_t i = 0; i < length; ++i) {
      const float* row = weights + i * N;
      all.diagonal += row[i];
      for (std::int64_t j = 0; j < length; ++j) all.same_word += ids[j] == ids[i] ? row[j] : 0;
      for (std::int64_t j = length; j < N; ++j) all.on_pads += row[j];
    }
  }

  const ReviewSizes& sizes_;
  const ReviewWords& words_;
  nn::Matrix table_;  // [vocabulary, width]
};

void add_words(LessonOutput& output, const std::vector<text::Example>& examples, const ReviewWords& words,
               const ReviewSizes& sizes) {
  const auto samples = std::ssize(examples);
  add_number(output, "samples", static_cast<double>(samples));
  add_number(output, "vocabulary", static_cast<double>(words.vocabulary));
  add_number(output, "length", static_cast<double>(sizes.length));
  add_number(output, "width", static_cast<double>(sizes.width));
  add_number(output, "batch", static_cast<double>(sizes.batch));
  const std::int64_t batches = (samples + sizes.batch - 1) / sizes.batch;
  add_number(output, "batches", static_cast<double>(batches));
  output.words.add("text", first_letters(examples.front().text, 100));
  output.words.add("tokens", joined(words.first));
  output.arrays.add("ids", LessonArray{{sizes.length, 1}, {words.ids.begin(), words.ids.begin() + sizes.length}}.named(
                               words.first, {"id"}));
  const auto n = static_cast<double>(samples), length = static_cast<double>(sizes.length);
  output.arrays.add("output_shape", LessonArray::vector({n, length, static_cast<double>(sizes.width)}));
  output.arrays.add("weights_shape", LessonArray::vector({n, length, length}));
  add_number(output, "weights_count", n * length * length);
  const std::string& label = examples.front().label;
  const auto same = [&](const text::Example& one) { return one.label == label; };
  if (!label.empty() && samples > 1 && std::ranges::all_of(examples, same)) output.words.add("one_label", label);
}

void add_seen(LessonOutput& output, const std::string& prefix, const Seen& seen, const ReviewWords& words) {
  output.arrays.add(prefix + "weights", LessonArray::of(seen.weights).named(words.first, words.first));
  output.arrays.add(prefix + "output", LessonArray::of(seen.result).named(words.first, {}));
  add_number(output, prefix + "diagonal", seen.diagonal);
  add_number(output, prefix + "same_word", seen.same_word);
  add_number(output, prefix + "on_pads", seen.on_pads);
}

figure::Heatmap heatmap(const ReviewWords& words, const Seen& seen) {
  figure::Heatmap map =
      heatmap_of(LessonArray::of(seen.weights).named(words.first, words.first), "Attention Weights Heatmap");
  map.x_label = "Key Tokens";
  map.y_label = "Query Tokens";
  map.bar_label = "Attention Weight";
  return map;
}

// The first review in a trained classifier: its label, and the words it attends to.
void add_trained_review(LessonOutput& output, const std::string& text, ThreadPool& pool) {
  constexpr std::size_t kMost = 8;
  const model::Reader reader = open_model("imdb-sentiment");
  const model::Facts& facts = reader.model->facts();
  const insight::RecordedTables tables(
      model::read(reader, {.text = text, .pair = {}, .target = {}, .cut = true}, {}, pool));
  const nn::Matrix logits = model::classify(reader, *tables.recording(), pool);
  const auto choice = model::label_choices(facts, {logits.row(0), static_cast<std::size_t>(logits.columns())})[0];
  output.words.add("judged", facts.labels[static_cast<std::size_t>(choice.id)]);
  add_number(output, "judged_probability", choice.probability);

  const LessonArray numbers = layer_tables(tables, insight::Kind::self, facts.layers - 1, pool);
  const auto& tokens = tables.keys(insight::Kind::self);
  std::vector<figure::Bars::Bar> words;
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    double mean = 0;
    for (std::int64_t head = 0; head < numbers.shape[0]; ++head)
      mean += numbers.numbers[static_cast<std::size_t>(head) * tokens.size() * tokens.size() + j] /
              static_cast<double>(numbers.shape[0]);
    if (!tokens[j].special) words.push_back({tokens[j].text, mean});
  }
  std::ranges::sort(words, [](const figure::Bars::Bar& a, const figure::Bars::Bar& b) {
    return a.value > b.value || (a.value == b.value && a.label < b.label);
  });
  words.resize(std::min(words.size(), kMost));
  LessonArray looked = LessonArray::zeros({std::ssize(words), 1});
  for (std::size_t n = 0; n < words.size(); ++n) {
    looked.numbers[n] = words[n].value;
    looked.rows.push_back(words[n].label);
  }
  output.words.add("looked_most", words.empty() ? "" : words.front().label);
  output.arrays.add("looked", looked);
  output.figures.add("trained", figure::Bars{.bars = std::move(words),
                                             .title = "What imdb-sentiment looks at",
                                             .x_label = "attention of [CLS], the last layer's mean",
                                             .caption = {}});
}

}  // namespace

LessonOutput imdb(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const ReviewSizes sizes{input.whole("samples"), input.whole("length"), input.whole("width"), input.whole("batch")};
  std::vector<text::Example> examples = reviews_of(input.text("data"), input.text("column"));
  if (input.text("data").empty()) output.words.add("own_reviews", "reviews.csv");
  examples.resize(std::min(examples.size(), static_cast<std::size_t>(sizes.samples)));
  const ReviewWords words = words_of(examples, sizes.length);
  add_words(output, examples, words, sizes);
  add_number(output, "seed", input.real("seed"));
  const ReviewAttention review_attention(sizes, words, static_cast<std::uint32_t>(input.whole("seed")));
  const Seen seen = review_attention.attend(false, work), masked = review_attention.attend(true, work);
  add_seen(output, "", seen, words);
  add_seen(output, "masked_", masked, words);
  output.arrays.add("shares", LessonArray{{2, 3},
                                          {seen.diagonal, seen.same_word, seen.on_pads, masked.diagonal,
                                           masked.same_word, masked.on_pads}}
                                  .named({"pads seen", "pads masked"}, {"on itself", "its word", "on <pad>"}));
  output.figures.add("attention_heatmap.png", heatmap(words, input.whole("mask_padding") != 0 ? masked : seen));
  output.figures.add("masked", heatmap(words, masked));
  add_trained_review(output, examples.front().text, work.pool);
  return output;
}

}  // namespace attn::course
