// lessons/shapes/compute.cc - the shape of every array on the way through attention, with one head and with many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"
#include "figure/terminal/columns.h"

namespace attn::lesson {

namespace {

// Lines of a name, the shape in letters and the shape in numbers.
class Flow {
 public:
  void add(const std::string& name, const std::string& letters, const std::vector<std::int64_t>& shape) {
    lines_ += fmt::format("{}{}{}\n", figure::fitted(name, 22), figure::fitted(letters, 22), shape_text(shape));
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  std::string lines_;
};

// [B, N, d] times [d, e], each sentence for itself.
Array project_batch(const Array& x, const Array& w) {
  const Array rows{{x.shape[0] * x.shape[1], x.shape[2]}, x.numbers};
  Array out = product(rows, w);
  out.shape = {x.shape[0], x.shape[1], w.width()};
  return out;
}

// The same numbers, read in another shape.
Array viewed(const Array& array, std::vector<std::int64_t> shape) { return {std::move(shape), array.numbers}; }

// At most so many numbers of each row.
Array begin_of(const Array& matrix, std::int64_t most) {
  Array out = Array::zeros({matrix.height(), std::min(matrix.width(), most)});
  for (std::int64_t i = 0; i < out.height(); ++i)
    for (std::int64_t j = 0; j < out.width(); ++j) out.at(i, j) = matrix.at(i, j);
  return out;
}

struct BatchedLayer {
  Array x, w_q, w_k, w_v, w_o, q, k, v;

  explicit BatchedLayer(const Given& given) {
    const std::int64_t d_model = given.whole("d_model");
    nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
    x = normal({given.whole("B"), given.whole("N"), d_model}, random);
    for (Array* const w : {&w_q, &w_k, &w_v, &w_o})
      *w = times(normal({d_model, d_model}, random), 1 / std::sqrt(static_cast<double>(d_model)));
    q = project_batch(x, w_q);
    k = project_batch(x, w_k);
    v = project_batch(x, w_v);
  }
};

void add_one_head(Told& told, const BatchedLayer& layer, ThreadPool& pool) {
  const AttendedMany found = attend_many(layer.q, layer.k, layer.v, {}, pool);
  Flow flow;
  flow.add("X", "[B, N, d_model]", layer.x.shape);
  flow.add("W_q, W_k, W_v", "[d_model, d_model]", layer.w_q.shape);
  flow.add("Q, K, V", "[B, N, d_model]", layer.q.shape);
  flow.add("K^T", "[B, d_model, N]", {layer.k.shape[0], layer.k.shape[2], layer.k.shape[1]});
  flow.add("Q K^T, weights", "[B, N, N]", found.weights.shape);
  flow.add("weights V", "[B, N, d_model]", found.output.shape);
  told.words.add("one_flow", flow.lines());
  told.arrays.add("one_weights_shape", shape_of(found.weights));
  told.arrays.add("one_output_shape", shape_of(found.output));
}

void add_many_heads(Told& told, const BatchedLayer& layer, std::int64_t heads, ThreadPool& pool) {
  const Array q = split_heads(layer.q, heads);
  const Array k = split_heads(layer.k, heads);
  const Array v = split_heads(layer.v, heads);
  const AttendedMany found = attend_many(q, k, v, {}, pool);
  const Array joined = join_heads(found.output), output = project_batch(joined, layer.w_o);
  const std::int64_t batch = q.shape[0], rows = q.shape[2], d_k = q.shape[3];
  Flow flow;
  flow.add("Q, K, V", "[B, N, d_model]", layer.q.shape);
  flow.add("view", "[B, N, h, d_k]", {batch, rows, heads, d_k});
  flow.add("transpose(1, 2)", "[B, h, N, d_k]", q.shape);
  flow.add("Q K^T, weights", "[B, h, N, N]", found.weights.shape);
  flow.add("weights V", "[B, h, N, d_v]", found.output.shape);
  flow.add("transpose(1, 2)", "[B, N, h, d_v]", {batch, rows, heads, d_k});
  flow.add("view (joined)", "[B, N, h d_v]", joined.shape);
  flow.add("W_o", "[h d_v, d_model]", layer.w_o.shape);
  flow.add("output", "[B, N, d_model]", output.shape);
  told.words.add("heads_flow", flow.lines());
  told.arrays.add("d_k", Array::scalar(static_cast<double>(d_k)));
  told.arrays.add("weights_shape", shape_of(found.weights));
  told.arrays.add("output_shape", shape_of(output));
  told.arrays.add("count", Array::scalar(static_cast<double>(found.weights.numbers.size())));
  told.arrays.add("head_weights", slice(slice(found.weights, 0), 0).named(numbered("", rows), numbered("", rows)));
  told.figures.add("head", heatmap_of(*told.arrays.find("head_weights"), "Sentence 0, head 0"));
  told.arrays.add("output_start", begin_of(slice(output, 0), 8));
}

// Twelve numbers that are told apart at a glance: split, joined, and split without the transpose.
void add_small(Told& told, const Given& given) {
  const Array& small = given.array("small");
  if (small.rank() != 3) throw std::invalid_argument("'small' must have three axes, [sentences, words, numbers]");
  const std::vector<std::string> words = numbered("word ", small.shape[1]);
  const Array split = split_heads(small, 2);
  told.arrays.add("small", Array(small).named(words, {}));
  told.arrays.add("small_split", Array(split).named(words, {}));
  told.arrays.add("small_joined", join_heads(split).named(words, {}));
  told.arrays.add("small_wrong", viewed(small, split.shape).named(words, {}));
}

Array widths_of(const Given& given) {
  const auto d_model = static_cast<double>(given.whole("d_model")), heads = static_cast<double>(given.whole("heads"));
  Array out{{3, 3}, {512, 8, 64, 128, 8, 16, d_model, heads, d_model / heads}};
  out.columns = {"d_model", "heads", "d_k"};
  out.rows = {"", "", "yours"};
  return out;
}

// What is said to a reader whose heads do not fit.
std::string heads_refusal(const Array& x) {
  std::int64_t heads = 2;
  while (x.shape.back() % heads == 0) ++heads;
  try {
    split_heads(x, heads);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace

Told shapes(const Given& given, const Work& work) {
  Told told;
  const std::int64_t heads = given.whole("heads"), d_model = given.whole("d_model");
  split_heads(Array::zeros({1, d_model}), heads);  // refuses before any work is done
  const BatchedLayer layer(given);
  told.arrays.add("X_shape", shape_of(layer.x));
  told.arrays.add("heads", Array::scalar(static_cast<double>(heads)));
  told.arrays.add("d_model", Array::scalar(static_cast<double>(d_model)));
  add_one_head(told, layer, work.pool);
  add_many_heads(told, layer, heads, work.pool);
  add_small(told, given);
  told.arrays.add("widths", widths_of(given));
  told.words.add("refusal", heads_refusal(layer.x));
  return told;
}

}  // namespace attn::lesson
