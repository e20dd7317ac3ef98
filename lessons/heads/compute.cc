// lessons/heads/compute.cc - many heads side by side, and the statistics of each.
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

LessonArray identity(std::int64_t n) {
  LessonArray out = LessonArray::zeros({n, n});
  for (std::int64_t i = 0; i < n; ++i) out.at(i, i) = 1;
  return out;
}

// softmax(randn(heads, N, N)) by the engine: queries are the scores, and keys are unit vectors that select one each.
LessonArray random_heads(const std::vector<std::string>& tokens, std::int64_t heads, nn::NumpyRandom& random,
                         ThreadPool& pool) {
  const std::int64_t n = std::ssize(tokens);
  const LessonArray scores = normal({heads, n, n}, random), pick = identity(n);
  LessonArray out{.shape = {heads, n, n}, .numbers = {}};
  for (std::int64_t head = 0; head < heads; ++head) {
    const LessonArray weights = attend(slice(scores, head), pick, pick, {.scale = 1}, pool).weights;
    out.numbers.insert(out.numbers.end(), weights.numbers.begin(), weights.numbers.end());
  }
  return std::move(out).named(tokens, tokens);
}

double row_entropy(const double* row, std::int64_t n) {
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum -= row[j] > 0 ? row[j] * std::log(row[j]) : 0;
  return sum;
}

LessonArray mean_over_heads(const LessonArray& numbers) {
  const std::int64_t heads = numbers.shape[0];
  LessonArray out = slice(numbers, 0);
  for (std::int64_t head = 1; head < heads; ++head)
    for (std::size_t n = 0; n < out.numbers.size(); ++n) out.numbers[n] += slice(numbers, head).numbers[n];
  return times(out, 1 / static_cast<double>(heads));
}

// Entropy, received, outgoing and diagonal per head, and of the mean over heads.
class HeadAnalysis {
 public:
  HeadAnalysis(LessonOutput& output, std::string prefix, const LessonArray& numbers)
      : output_(output), prefix_(std::move(prefix)), tables_(numbers) {}

  void add(ThreadPool& pool) {
    const std::int64_t heads = tables_.shape[0];
    nn::Matrix numbers = tables_.matrix();
    const insight::InMemoryTables tables({.layers = 1, .heads = heads, .numbers = std::move(numbers)}, tables_.rows,
                                         tables_.columns);
    const auto found = insight::statistics(tables, {}, pool);
    const insight::LayerStatistics all = insight::layer_statistics(found).front();
    LessonArray entropy = LessonArray::zeros({heads});
    for (std::int64_t head = 0; head < heads; ++head)
      entropy.numbers[static_cast<std::size_t>(head)] = found[static_cast<std::size_t>(head)].entropy;
    output_.arrays.add(prefix_ + "attention", tables_);
    output_.arrays.add(prefix_ + "entropy", std::move(entropy).named({}, numbered("head ", heads)));
    output_.arrays.add(prefix_ + "mean_entropy", LessonArray::scalar(all.entropy));
    put("received", found, &insight::HeadStatistics::received, all.received);
    put("outgoing", found, &insight::HeadStatistics::outgoing, all.outgoing);
    put("diagonal", found, &insight::HeadStatistics::diagonal, all.diagonal);
  }

 private:
  // Adds [heads, tokens] and, as "mean_...", the same of the mean over heads.
  void put(const char* name, const std::vector<insight::HeadStatistics>& found,
           std::vector<float> insight::HeadStatistics::* part, const std::vector<float>& of_mean) {
    LessonArray table{.shape = {std::ssize(found), std::ssize(of_mean)}, .numbers = {}};
    for (const insight::HeadStatistics& head : found)
      table.numbers.insert(table.numbers.end(), (head.*part).begin(), (head.*part).end());
    output_.arrays.add(prefix_ + name, std::move(table).named(numbered("head ", std::ssize(found)), tables_.columns));
    output_.arrays.add(
        prefix_ + "mean_" + name,
        LessonArray{{1, std::ssize(of_mean)}, {of_mean.begin(), of_mean.end()}}.named({"mean"}, tables_.columns));
  }

  LessonOutput& output_;
  std::string prefix_;
  const LessonArray& tables_;
};

// A mistake: the entropy of the mean is not the mean of the entropies.
void add_mean(LessonOutput& output, const LessonArray& numbers) {
  const LessonArray mean = mean_over_heads(numbers);
  double entropy = 0;
  for (std::int64_t i = 0; i < mean.height(); ++i)
    entropy += row_entropy(mean.numbers.data() + i * mean.width(), mean.width()) / static_cast<double>(mean.height());
  output.arrays.add("mean", mean);
  output.arrays.add("entropy_of_mean", LessonArray::scalar(entropy));
}

// The token that receives most attention in the mean over heads, and the entropy of an even row.
void add_most(LessonOutput& output, const LessonArray& numbers) {
  const LessonArray& received = *output.arrays.find("mean_received");
  const auto most = std::ranges::max_element(received.numbers) - received.numbers.begin();
  output.words.add("most", numbers.columns[static_cast<std::size_t>(most)]);
  output.arrays.add("most_received", LessonArray::scalar(received.numbers[static_cast<std::size_t>(most)]));
  const auto n = static_cast<double>(numbers.shape[2]);
  output.arrays.add("tokens", LessonArray::scalar(n));
  output.arrays.add("even_entropy", LessonArray::scalar(std::log(n)));
  output.arrays.add("hidden_heads", LessonArray::scalar(std::max(0.0, static_cast<double>(numbers.shape[0]) - 8)));
}

void add_trained_heads(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const model::Reader reader = open_model(input.text("model"));
  const insight::RecordedTables tables(
      model::read(reader, {.text = input.text("text"), .pair = {}, .target = {}}, {}, pool));
  const std::int64_t layer = input.whole("layer");
  insight::need_index("layer", layer, tables.stack(Kind::self).layers);
  const LessonArray numbers = layer_tables(tables, Kind::self, layer, pool);
  HeadAnalysis(output, "trained_", numbers).add(pool);
  output.arrays.add("trained_even", LessonArray::scalar(std::log(static_cast<double>(numbers.shape[2]))));
  output.words.add("model", short_name(reader));
  output.words.add("text", input.text("text"));
  output.arrays.add("layer", LessonArray::scalar(static_cast<double>(layer)));
  output.figures.add("trained", blue_grid(numbers, short_name(reader) + ", layer " + std::to_string(layer)));
}

}  // namespace

LessonOutput heads(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const auto seed = static_cast<std::uint32_t>(input.whole("seed"));
  nn::NumpyRandom random(seed), again(seed);
  const LessonArray numbers = random_heads(input.words("tokens"), input.whole("heads"), random, work.pool);
  output.arrays.add("heads", LessonArray::scalar(static_cast<double>(numbers.shape[0])));
  output.arrays.add("seed", LessonArray::scalar(seed));
  HeadAnalysis(output, "", numbers).add(work.pool);
  add_mean(output, numbers);
  add_most(output, numbers);
  output.figures.add("heads", blue_grid(numbers, "Layer 0 Attention Heads"));
  figure::Bars bars{.bars = {}, .title = "Entropy of each head", .x_label = "nats", .caption = {}};
  const LessonArray& entropy = *output.arrays.find("entropy");
  for (std::size_t n = 0; n < entropy.numbers.size(); ++n)
    bars.bars.push_back({entropy.columns[n], entropy.numbers[n]});
  output.figures.add("entropy", std::move(bars));

  const LessonArray small = random_heads(input.words("few"), input.whole("few_heads"), again, work.pool);
  HeadAnalysis(output, "few_", small).add(work.pool);
  output.words.add("few", joined(input.words("few")));
  output.figures.add("few", blue_grid(small, joined(input.words("few"))));

  add_trained_heads(output, input, work.pool);
  return output;
}

}  // namespace attn::course
