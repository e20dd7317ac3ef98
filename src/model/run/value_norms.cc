#include "model/run/value_norms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "nn/infer/embedding.h"

namespace attn::model {

namespace {

// A stored matrix, converted to floats.
nn::Matrix as_floats(const AnyView<2>& matrix) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(matrix.shape[0]));
  std::iota(rows.begin(), rows.end(), 0);
  nn::Matrix floats(matrix.shape[0], matrix.shape[1]);
  nn::embed(matrix, rows, floats.view());
  return floats;
}

// G = W W^T for W [D, width], so that |v W|^2 = v G v^T: D x D numbers instead of D x width for every key.
std::vector<double> gram(const nn::Matrix& w) {
  const std::int64_t d = w.rows();
  std::vector<double> g(static_cast<std::size_t>(d * d));
  for (std::int64_t a = 0; a < d; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::int64_t c = 0; c < w.columns(); ++c) sum += static_cast<double>(w.row(a)[c]) * w.row(b)[c];
      g[static_cast<std::size_t>(a * d + b)] = g[static_cast<std::size_t>(b * d + a)] = sum;
    }
  }
  return g;
}

double quadratic_form(const std::vector<double>& g, const float* v, std::int64_t d) {
  double all = 0;
  for (std::int64_t a = 0; a < d; ++a) {
    double sum = 0;
    for (std::int64_t b = 0; b < d; ++b) sum += g[static_cast<std::size_t>(a * d + b)] * v[b];
    all += sum * v[a];
  }
  return all;
}

}  // namespace

nn::Matrix rows_of_head(const nn::Weight& projection, const HeadShape& shape, std::int64_t head) {
  const auto in = static_cast<std::size_t>(projection.input_first ? 0 : 1);
  AnyView<2> part = projection.matrix;
  const std::int64_t skipped = head * shape.width * part.strides[in];
  part.data = static_cast<const std::byte*>(part.data) + skipped * static_cast<std::int64_t>(size_of(part.type));
  part.shape[in] = shape.width;
  nn::Matrix floats = as_floats(part);
  if (projection.input_first) return floats;
  nn::Matrix turned(floats.columns(), floats.rows());
  for (std::int64_t i = 0; i < turned.rows(); ++i)
    for (std::int64_t j = 0; j < turned.columns(); ++j) turned.row(i)[j] = floats.row(j)[i];
  return turned;
}

nn::Matrix value_norms(const AttentionRecord& record, const nn::Weight& projection) {
  const HeadShape& shape = record.shape;
  nn::Matrix norms(shape.heads, record.keys);
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    const std::vector<double> g = gram(rows_of_head(projection, shape, head));
    const std::int64_t key_head = head / (shape.heads / shape.key_heads);
    for (std::int64_t j = 0; j < record.keys; ++j) {
      const double square = quadratic_form(g, record.v.row(j) + key_head * shape.width, shape.width);
      norms.row(head)[j] = static_cast<float>(std::sqrt(std::max(square, 0.0)));
    }
  }
  return norms;
}

}  // namespace attn::model
