#include "course/compute/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/attention.h"

namespace attn::course {

namespace {

[[noreturn]] void misfit(const char* what, const LessonArray& a, const LessonArray& b) {
  throw std::invalid_argument(std::string(what) + ": " + shape_text(a.shape) + " and " + shape_text(b.shape));
}

View<float, 4> heads_of(nn::Matrix& matrix) { return {matrix.data(), {1, 1, matrix.rows(), matrix.columns()}}; }

// Reads [B, N, D] as [B, 1, N, D].
Shape<4> four_axes(const LessonArray& array, const char* name) {
  if (array.rank() == 3) return {array.shape[0], 1, array.shape[1], array.shape[2]};
  if (array.rank() != 4)
    throw std::invalid_argument(std::string(name) + " must have three or four axes, not " + shape_text(array.shape));
  return {array.shape[0], array.shape[1], array.shape[2], array.shape[3]};
}

struct LessonHeads {
  std::int64_t heads, rows;
  enum Into : std::uint8_t { split, joined } into;
};
// Copies `in` to `out` with the axes of rows and heads swapped.
LessonArray move_heads(const LessonArray& in, LessonArray out, const LessonHeads& how) {
  const std::int64_t wide = (how.into == LessonHeads::split ? out : in).shape.back();
  const std::int64_t table = how.heads * how.rows * wide;
  for (std::int64_t n = 0; n < std::ssize(in.numbers); ++n) {
    const std::int64_t d = n % wide, h = n / wide % how.heads, i = n / wide / how.heads % how.rows;
    const std::int64_t apart = n / table * table + (h * how.rows + i) * wide + d;
    if (how.into == LessonHeads::split)
      out.numbers[static_cast<std::size_t>(apart)] = in.numbers[static_cast<std::size_t>(n)];
    else
      out.numbers[static_cast<std::size_t>(n)] = in.numbers[static_cast<std::size_t>(apart)];
  }
  return out;
}

}  // namespace

LessonArray product(const LessonArray& a, const LessonArray& b) {
  if (a.rank() != 2 || b.rank() != 2 || a.width() != b.height())
    misfit("the first must have as many columns as the second has rows", a, b);
  LessonArray out = LessonArray::zeros({a.height(), b.width()});
  for (std::int64_t i = 0; i < a.height(); ++i)
    for (std::int64_t t = 0; t < a.width(); ++t)
      for (std::int64_t j = 0; j < b.width(); ++j) out.at(i, j) += a.at(i, t) * b.at(t, j);
  return out;
}

LessonArray transposed(const LessonArray& a, const LessonArray& b) {
  if (a.rank() != 2 || b.rank() != 2 || a.width() != b.width()) misfit("queries must be as wide as keys", a, b);
  LessonArray out = LessonArray::zeros({a.height(), b.height()});
  for (std::int64_t i = 0; i < a.height(); ++i)
    for (std::int64_t j = 0; j < b.height(); ++j)
      for (std::int64_t t = 0; t < a.width(); ++t) out.at(i, j) += a.at(i, t) * b.at(j, t);
  return out;
}

LessonArray times(const LessonArray& a, double factor) {
  LessonArray out = a;
  for (double& number : out.numbers) number *= factor;
  return out;
}

LessonArray softmax_rows(const LessonArray& scores) {
  LessonArray out = scores;
  for (std::int64_t i = 0; i < out.height(); ++i) {
    double* const row = out.numbers.data() + i * out.width();
    const double peak = *std::max_element(row, row + out.width());
    if (peak == -std::numeric_limits<double>::infinity()) {
      std::fill_n(row, out.width(), 0.0);  // a query that may see no key
      continue;
    }
    double sum = 0;
    for (std::int64_t j = 0; j < out.width(); ++j) sum += row[j] = std::exp(row[j] - peak);
    for (std::int64_t j = 0; j < out.width(); ++j) row[j] /= sum;
  }
  return out;
}

LessonAttention attend(const LessonArray& q, const LessonArray& k, const LessonArray& v, const How& how,
                       ThreadPool& pool) {
  LessonAttention out;
  out.scores = transposed(q, k);
  if (v.rank() != 2 || v.height() != k.height()) misfit("there must be one value per key", k, v);
  const double scale = how.scale.value_or(1 / std::sqrt(static_cast<double>(q.width())));
  out.scaled = times(out.scores, scale);
  nn::Matrix queries = q.matrix(), keys = k.matrix(), values = v.matrix();
  nn::Matrix result(q.height(), v.width()), table(q.height(), k.height());
  Options options;
  options.scale = static_cast<float>(scale);
  options.mask = how.mask;
  attention({heads_of(queries), heads_of(keys), heads_of(values)}, options, heads_of(result), {}, heads_of(table),
            pool);
  out.weights = LessonArray::of(table);
  out.result = LessonArray::of(result);
  return out;
}

AttendedMany attend_many(const LessonArray& q, const LessonArray& k, const LessonArray& v, const Options& options,
                         ThreadPool& pool) {
  const Shape<4> of_q = four_axes(q, "Q"), of_k = four_axes(k, "K"), of_v = four_axes(v, "V");
  nn::Matrix queries = q.matrix(), keys = k.matrix(), values = v.matrix();
  const std::int64_t rows = queries.rows();
  nn::Matrix result(rows, of_v[3]), table(rows, of_k[2]);
  const View<float, 4> out(result.data(), {of_q[0], of_q[1], of_q[2], of_v[3]});
  const View<float, 4> weights(table.data(), {of_q[0], of_q[1], of_q[2], of_k[2]});
  attention({View(queries.data(), of_q), View(keys.data(), of_k), View(values.data(), of_v)}, options, out, {}, weights,
            pool);
  AttendedMany many{LessonArray::of(table), LessonArray::of(result)};
  many.weights.shape = many.result.shape = q.shape;
  many.weights.shape.back() = of_k[2];
  many.result.shape.back() = of_v[3];
  return many;
}

LessonArray split_heads(const LessonArray& joined, std::int64_t heads) {
  const std::int64_t width = joined.shape.at(joined.shape.size() - 1);
  if (heads < 1 || width % heads != 0)
    throw std::invalid_argument("d_model " + std::to_string(width) + " cannot be split into " + std::to_string(heads) +
                                " heads of equal width");
  LessonArray out = LessonArray::zeros(joined.shape);
  out.shape.insert(out.shape.end() - 2, heads);
  out.shape.back() = width / heads;
  return move_heads(joined, std::move(out),
                    {.heads = heads, .rows = joined.shape.end()[-2], .into = LessonHeads::split});
}

LessonArray join_heads(const LessonArray& split) {
  const std::int64_t heads = split.shape.at(split.shape.size() - 3);
  LessonArray out = LessonArray::zeros(split.shape);
  out.shape.erase(out.shape.end() - 3);
  out.shape.back() *= heads;
  return move_heads(split, std::move(out),
                    {.heads = heads, .rows = split.shape.end()[-2], .into = LessonHeads::joined});
}

void add(LessonOutput& output, LessonAttention attended, const Names& names) {
  const auto name = [&](const char* what) { return names.prefix + what; };
  const auto table = [&](LessonArray array, MadeFrom made) {
    return std::move(array).named(names.queries, names.keys).from(std::move(made));
  };
  output.arrays.add(name("scores"), table(std::move(attended.scores), {MadeFrom::By::transposed, names.q, names.k}));
  output.arrays.add(name("scaled"), table(std::move(attended.scaled), {MadeFrom::By::each, name("scores")}));
  output.arrays.add(name("weights"), table(std::move(attended.weights), {MadeFrom::By::rows, name("scaled")}));
  output.arrays.add(
      name("output"),
      std::move(attended.result).named(names.queries, {}).from({MadeFrom::By::product, name("weights"), names.v}));
}

}  // namespace attn::course
