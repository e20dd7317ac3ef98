// lessons/shapes/compute.cc - the shape of every array on the way through attention, with one head and with many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"
#include "figure/terminal/columns.h"

namespace attn::course {

namespace {

// One line per array: its name, its shape in letters and in numbers.
class ShapeFlow {
 public:
  void add(const std::string& name, const std::string& letters, const std::vector<std::int64_t>& shape) {
    lines_ += fmt::format("{}{}{}\n", figure::fitted(name, 22), figure::fitted(letters, 22), shape_text(shape));
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  std::string lines_;
};

// [B, N, d] times [d, e], sentence by sentence.
LessonArray project_batch(const LessonArray& x, const LessonArray& w) {
  const LessonArray rows{{x.shape[0] * x.shape[1], x.shape[2]}, x.numbers};
  LessonArray out = product(rows, w);
  out.shape = {x.shape[0], x.shape[1], w.width()};
  return out;
}

// The same numbers in another shape.
LessonArray viewed(const LessonArray& array, std::vector<std::int64_t> shape) {
  return {std::move(shape), array.numbers};
}

// Cuts each row to `most` numbers.
LessonArray begin_of(const LessonArray& matrix, std::int64_t most) {
  LessonArray out = LessonArray::zeros({matrix.height(), std::min(matrix.width(), most)});
  for (std::int64_t i = 0; i < out.height(); ++i)
    for (std::int64_t j = 0; j < out.width(); ++j) out.at(i, j) = matrix.at(i, j);
  return out;
}

struct BatchedLayer {
  LessonArray x, w_q, w_k, w_v, w_o, q, k, v;

  explicit BatchedLayer(const LessonInput& input) {
    const std::int64_t d_model = input.whole("d_model");
    nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
    x = normal({input.whole("B"), input.whole("N"), d_model}, random);
    for (LessonArray* const w : {&w_q, &w_k, &w_v, &w_o})
      *w = times(normal({d_model, d_model}, random), 1 / std::sqrt(static_cast<double>(d_model)));
    q = project_batch(x, w_q);
    k = project_batch(x, w_k);
    v = project_batch(x, w_v);
  }
};

void add_one_head(LessonOutput& output, const BatchedLayer& layer, ThreadPool& pool) {
  const AttendedMany found = attend_many(layer.q, layer.k, layer.v, {}, pool);
  ShapeFlow flow;
  flow.add("X", "[B, N, d_model]", layer.x.shape);
  flow.add("W_q, W_k, W_v", "[d_model, d_model]", layer.w_q.shape);
  flow.add("Q, K, V", "[B, N, d_model]", layer.q.shape);
  flow.add("K^T", "[B, d_model, N]", {layer.k.shape[0], layer.k.shape[2], layer.k.shape[1]});
  flow.add("Q K^T, weights", "[B, N, N]", found.weights.shape);
  flow.add("weights V", "[B, N, d_model]", found.result.shape);
  output.words.add("one_flow", flow.lines());
  output.arrays.add("one_weights_shape", shape_of(found.weights));
  output.arrays.add("one_output_shape", shape_of(found.result));
}

void add_many_heads(LessonOutput& output, const BatchedLayer& layer, std::int64_t heads, ThreadPool& pool) {
  const LessonArray q = split_heads(layer.q, heads);
  const LessonArray k = split_heads(layer.k, heads);
  const LessonArray v = split_heads(layer.v, heads);
  const AttendedMany found = attend_many(q, k, v, {}, pool);
  const LessonArray joined = join_heads(found.result), result = project_batch(joined, layer.w_o);
  const std::int64_t batch = q.shape[0], rows = q.shape[2], d_k = q.shape[3];
  ShapeFlow flow;
  flow.add("Q, K, V", "[B, N, d_model]", layer.q.shape);
  flow.add("view", "[B, N, h, d_k]", {batch, rows, heads, d_k});
  flow.add("transpose(1, 2)", "[B, h, N, d_k]", q.shape);
  flow.add("Q K^T, weights", "[B, h, N, N]", found.weights.shape);
  flow.add("weights V", "[B, h, N, d_v]", found.result.shape);
  flow.add("transpose(1, 2)", "[B, N, h, d_v]", {batch, rows, heads, d_k});
  flow.add("view (joined)", "[B, N, h d_v]", joined.shape);
  flow.add("W_o", "[h d_v, d_model]", layer.w_o.shape);
  flow.add("output", "[B, N, d_model]", result.shape);
  output.words.add("heads_flow", flow.lines());
  output.arrays.add("d_k", LessonArray::scalar(static_cast<double>(d_k)));
  output.arrays.add("weights_shape", shape_of(found.weights));
  output.arrays.add("output_shape", shape_of(result));
  output.arrays.add("count", LessonArray::scalar(static_cast<double>(found.weights.numbers.size())));
  output.arrays.add("head_weights", slice(slice(found.weights, 0), 0).named(numbered("", rows), numbered("", rows)));
  output.figures.add("head", heatmap_of(*output.arrays.find("head_weights"), "Sentence 0, head 0"));
  output.arrays.add("output_start", begin_of(slice(result, 0), 8));
}

// Twelve easily distinguished numbers: split, merged, and split without the transpose.
void add_small(LessonOutput& output, const LessonInput& input) {
  const LessonArray& small = input.array("small");
  if (small.rank() != 3) throw std::invalid_argument("'small' must have three axes, [sentences, words, numbers]");
  const std::vector<std::string> words = numbered("word ", small.shape[1]);
  const LessonArray split = split_heads(small, 2);
  output.arrays.add("small", LessonArray(small).named(words, {}));
  output.arrays.add("small_split", LessonArray(split).named(words, {}));
  output.arrays.add("small_joined", join_heads(split).named(words, {}));
  output.arrays.add("small_wrong", viewed(small, split.shape).named(words, {}));
}

LessonArray widths_of(const LessonInput& input) {
  const auto d_model = static_cast<double>(input.whole("d_model")), heads = static_cast<double>(input.whole("heads"));
  LessonArray out{{3, 3}, {512, 8, 64, 128, 8, 16, d_model, heads, d_model / heads}};
  out.columns = {"d_model", "heads", "d_k"};
  out.rows = {"", "", "yours"};
  return out;
}

// The error message for heads that do not divide the width.
std::string heads_refusal(const LessonArray& x) {
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

LessonOutput shapes(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const std::int64_t heads = input.whole("heads"), d_model = input.whole("d_model");
  split_heads(LessonArray::zeros({1, d_model}), heads);  // throws before any work is done
  const BatchedLayer layer(input);
  output.arrays.add("X_shape", shape_of(layer.x));
  output.arrays.add("heads", LessonArray::scalar(static_cast<double>(heads)));
  output.arrays.add("d_model", LessonArray::scalar(static_cast<double>(d_model)));
  add_one_head(output, layer, work.pool);
  add_many_heads(output, layer, heads, work.pool);
  add_small(output, input);
  output.arrays.add("widths", widths_of(input));
  output.words.add("refusal", heads_refusal(layer.x));
  return output;
}

}  // namespace attn::course
