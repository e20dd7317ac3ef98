// lessons/heads/compute.cc - many heads beside each other, and what can be counted of each.
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

Array identity(std::int64_t n) {
  Array out = Array::zeros({n, n});
  for (std::int64_t i = 0; i < n; ++i) out.at(i, i) = 1;
  return out;
}

// softmax(randn(heads, N, N)): the engine's, of queries that are scores and keys that pick one of them each.
Array random_heads(const std::vector<std::string>& tokens, std::int64_t heads, nn::NumpyRandom& random,
                   ThreadPool& pool) {
  const std::int64_t n = std::ssize(tokens);
  const Array scores = normal({heads, n, n}, random), pick = identity(n);
  Array out{.shape = {heads, n, n}, .numbers = {}};
  for (std::int64_t head = 0; head < heads; ++head) {
    const Array weights = attend(slice(scores, head), pick, pick, {.scale = 1}, pool).weights;
    out.numbers.insert(out.numbers.end(), weights.numbers.begin(), weights.numbers.end());
  }
  return std::move(out).named(tokens, tokens);
}

double row_entropy(const double* row, std::int64_t n) {
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum -= row[j] > 0 ? row[j] * std::log(row[j]) : 0;
  return sum;
}

Array mean_over_heads(const Array& tables) {
  const std::int64_t heads = tables.shape[0];
  Array out = slice(tables, 0);
  for (std::int64_t head = 1; head < heads; ++head)
    for (std::size_t n = 0; n < out.numbers.size(); ++n) out.numbers[n] += slice(tables, head).numbers[n];
  return times(out, 1 / static_cast<double>(heads));
}

// Entropy, received, outgoing and diagonal: of each head, and of the mean of all.
class Analysis {
 public:
  Analysis(Told& told, std::string prefix, const Array& tables)
      : told_(told), prefix_(std::move(prefix)), tables_(tables) {}

  void add(ThreadPool& pool) {
    const std::int64_t heads = tables_.shape[0];
    nn::Matrix numbers = tables_.matrix();
    const insight::TableSpecimen specimen({.layers = 1, .heads = heads, .numbers = std::move(numbers)}, tables_.rows,
                                          tables_.columns);
    const auto found = insight::statistics(specimen, {}, pool);
    const insight::LayerStatistics all = insight::layer_statistics(found).front();
    Array entropy = Array::zeros({heads});
    for (std::int64_t head = 0; head < heads; ++head)
      entropy.numbers[static_cast<std::size_t>(head)] = found[static_cast<std::size_t>(head)].entropy;
    told_.arrays.add(prefix_ + "attention", tables_);
    told_.arrays.add(prefix_ + "entropy", std::move(entropy).named({}, numbered("head ", heads)));
    told_.arrays.add(prefix_ + "mean_entropy", Array::scalar(all.entropy));
    put("received", found, &insight::HeadStatistics::received, all.received);
    put("outgoing", found, &insight::HeadStatistics::outgoing, all.outgoing);
    put("diagonal", found, &insight::HeadStatistics::diagonal, all.diagonal);
  }

 private:
  // [heads, tokens], and behind it as "mean_..." those of the mean over heads.
  void put(const char* name, const std::vector<insight::HeadStatistics>& found,
           std::vector<float> insight::HeadStatistics::* part, const std::vector<float>& of_mean) {
    Array table{.shape = {std::ssize(found), std::ssize(of_mean)}, .numbers = {}};
    for (const insight::HeadStatistics& head : found)
      table.numbers.insert(table.numbers.end(), (head.*part).begin(), (head.*part).end());
    told_.arrays.add(prefix_ + name, std::move(table).named(numbered("head ", std::ssize(found)), tables_.columns));
    told_.arrays.add(prefix_ + "mean_" + name, Array{{1, std::ssize(of_mean)}, {of_mean.begin(), of_mean.end()}}.named(
                                                   {"mean"}, tables_.columns));
  }

  Told& told_;
  std::string prefix_;
  const Array& tables_;
};

// What goes wrong: the entropy of the mean is not the mean of entropies.
void add_mean(Told& told, const Array& tables) {
  const Array mean = mean_over_heads(tables);
  double entropy = 0;
  for (std::int64_t i = 0; i < mean.height(); ++i)
    entropy += row_entropy(mean.numbers.data() + i * mean.width(), mean.width()) / static_cast<double>(mean.height());
  told.arrays.add("mean", mean);
  told.arrays.add("entropy_of_mean", Array::scalar(entropy));
}

// Where the mean over heads has most, and what is always so.
void add_most(Told& told, const Array& tables) {
  const Array& received = *told.arrays.find("mean_received");
  const auto most = std::ranges::max_element(received.numbers) - received.numbers.begin();
  told.words.add("most", tables.columns[static_cast<std::size_t>(most)]);
  told.arrays.add("most_received", Array::scalar(received.numbers[static_cast<std::size_t>(most)]));
  const auto n = static_cast<double>(tables.shape[2]);
  told.arrays.add("tokens", Array::scalar(n));
  told.arrays.add("even_entropy", Array::scalar(std::log(n)));
  told.arrays.add("hidden_heads", Array::scalar(std::max(0.0, static_cast<double>(tables.shape[0]) - 8)));
}

void add_trained_heads(Told& told, const Given& given, ThreadPool& pool) {
  const model::Reader reader = open_model(given.text("model"));
  const insight::RecordedSpecimen specimen(
      model::read(reader, {.text = given.text("text"), .pair = {}, .target = {}}, {}, pool));
  const std::int64_t layer = given.whole("layer");
  insight::need_index("layer", layer, specimen.stack(Kind::self).layers);
  const Array tables = layer_tables(specimen, Kind::self, layer, pool);
  Analysis(told, "trained_", tables).add(pool);
  told.arrays.add("trained_even", Array::scalar(std::log(static_cast<double>(tables.shape[2]))));
  told.words.add("model", short_name(reader));
  told.words.add("text", given.text("text"));
  told.arrays.add("layer", Array::scalar(static_cast<double>(layer)));
  told.figures.add("trained", blue_grid(tables, short_name(reader) + ", layer " + std::to_string(layer)));
}

}  // namespace

Told heads(const Given& given, const Work& work) {
  Told told;
  const auto seed = static_cast<std::uint32_t>(given.whole("seed"));
  nn::NumpyRandom random(seed), again(seed);
  const Array tables = random_heads(given.words("tokens"), given.whole("heads"), random, work.pool);
  told.arrays.add("heads", Array::scalar(static_cast<double>(tables.shape[0])));
  told.arrays.add("seed", Array::scalar(seed));
  Analysis(told, "", tables).add(work.pool);
  add_mean(told, tables);
  add_most(told, tables);
  told.figures.add("heads", blue_grid(tables, "Layer 0 Attention Heads"));
  figure::Bars bars{.bars = {}, .title = "Entropy of each head", .x_label = "nats", .caption = {}};
  const Array& entropy = *told.arrays.find("entropy");
  for (std::size_t n = 0; n < entropy.numbers.size(); ++n)
    bars.bars.push_back({entropy.columns[n], entropy.numbers[n]});
  told.figures.add("entropy", std::move(bars));

  const Array small = random_heads(given.words("few"), given.whole("few_heads"), again, work.pool);
  Analysis(told, "few_", small).add(work.pool);
  told.words.add("few", joined(given.words("few")));
  told.figures.add("few", blue_grid(small, joined(given.words("few"))));

  add_trained_heads(told, given, work.pool);
  return told;
}

}  // namespace attn::lesson
