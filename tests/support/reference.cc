// support/reference.cc
#include "tests/support/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/numbers.h"
#include "tests/support/tensor.h"

namespace attn::test {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

std::vector<double> doubles(const AnyView<4>& view) {
  std::vector<double> x;
  each(view.shape, [&](const Shape<4>& at) { x.push_back(element(view, at)); });
  return x;
}

class Solver {
 public:
  Solver(const Inputs& in, const Options& options)
      : options_(options), q_(doubles(in.q)), k_(doubles(in.k)), v_(doubles(in.v)) {
    heads_ = in.q.shape[1];
    queries_ = in.q.shape[2];
    width_ = in.q.shape[3];
    key_heads_ = in.k.shape[1];
    keys_ = in.k.shape[2];
    values_ = in.v.shape[3];
    scale_ = options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(width_));
    book_.shape = {in.q.shape[0], heads_, queries_, values_};
    book_.keys = keys_;
    const auto rows = static_cast<std::size_t>(in.q.shape[0] * heads_ * queries_);
    book_.out.assign(rows * static_cast<std::size_t>(values_), 0);
    book_.lse.assign(rows, -kInfinity);
    book_.doubt.assign(rows, 0);
    for (const double x : v_)
      if (std::isfinite(x)) book_.largest_value = std::max(book_.largest_value, std::abs(x));
    book_.largest_value /= 1 - static_cast<double>(options.dropout.rate);
  }

  void keep_weights() { book_.weights.assign(book_.lse.size() * static_cast<std::size_t>(keys_), 0); }

  void solve(const TextbookSequence& s) {
    for (std::int64_t h = 0; h < heads_; ++h)
      for (std::int64_t i = 0; i < s.queries; ++i) solve_row(s, h, i);
  }

  Textbook take() { return std::move(book_); }

 private:
  double score(const TextbookSequence& s, std::int64_t h, std::int64_t i, std::int64_t j, double& size) const {
    const std::int64_t g = h / (heads_ / key_heads_);
    const double* q = q_.data() + ((s.b * heads_ + h) * queries_ + s.first_query + i) * width_;
    const double* k = k_.data() + ((s.b * key_heads_ + g) * keys_ + s.first_key + j) * width_;
    double dot = 0;
    size = 0;
    for (std::int64_t d = 0; d < width_; ++d) {
      dot += q[d] * k[d];
      size += std::abs(q[d] * k[d]);
    }
    dot *= scale_;
    size *= std::abs(scale_);
    if (options_.softcap > 0) dot = options_.softcap * std::tanh(dot / options_.softcap);
    const double bias = bias_of(s, h, i, j);
    if (std::isfinite(bias)) size += std::abs(bias);
    return dot + bias;
  }

  double bias_of(const TextbookSequence& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    if (const auto& bias = options_.bias; !bias.empty()) sum += bias(bias.shape[0] == 1 ? 0 : h, j - i + s.bias_zero);
    for (const View<const float, 4>& dense : {options_.dense_bias, options_.mask.bias()}) {
      if (dense.empty()) continue;
      const auto& n = dense.shape;
      sum += dense(n[0] == 1 ? 0 : s.batch, n[1] == 1 ? 0 : h, n[2] == 1 ? 0 : i, j);
    }
    return sum;
  }

  bool allowed(const TextbookSequence& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return options_.mask.allows(s.batch, h, i, j);
  }

  void solve_row(const TextbookSequence& s, std::int64_t h, std::int64_t i) {
    std::vector<double> scores(static_cast<std::size_t>(s.keys), -kInfinity);
    const std::int64_t row = (s.b * heads_ + h) * queries_ + s.first_query + i;
    const double sink = options_.sink.empty() ? -kInfinity : options_.sink(h);
    double top = sink, largest = std::isfinite(sink) ? std::abs(sink) : 0;
    bool poisoned = false;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      if (!allowed(s, h, i, j)) continue;
      double size = 0;
      scores[static_cast<std::size_t>(j)] = score(s, h, i, j, size);
      poisoned = poisoned || std::isnan(scores[static_cast<std::size_t>(j)]);
      top = std::max(top, scores[static_cast<std::size_t>(j)]);
      if (std::isfinite(size)) largest = std::max(largest, size);
    }
    book_.doubt[static_cast<std::size_t>(row)] = kEpsilon * largest;
    if (top == -kInfinity && !poisoned) return;
    double sum = std::exp(sink - top);
    for (const double x : scores) sum += x == -kInfinity ? 0 : std::exp(x - top);
    book_.lse[static_cast<std::size_t>(row)] = top + std::log(sum);
    weigh(s, h, i, scores);
  }

  // Weights and output of one row from its lse.
  void weigh(const TextbookSequence& s, std::int64_t h, std::int64_t i, const std::vector<double>& scores) {
    const std::int64_t g = h / (heads_ / key_heads_);
    const std::int64_t row = (s.b * heads_ + h) * queries_ + s.first_query + i;
    const double lse = book_.lse[static_cast<std::size_t>(row)];
    double* out = book_.out.data() + row * values_;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      if (!allowed(s, h, i, j)) continue;
      double p = std::exp(scores[static_cast<std::size_t>(j)] - lse);
      if (!book_.weights.empty()) book_.weights[static_cast<std::size_t>(row * keys_ + j)] = p;
      if (options_.dropout.rate > 0)
        p *= dropout_keeps(options_.dropout, s.batch, h, i, j) ? 1 / (1 - static_cast<double>(options_.dropout.rate))
                                                               : 0;
      const double* v = v_.data() + ((s.b * key_heads_ + g) * keys_ + s.first_key + j) * values_;
      for (std::int64_t e = 0; e < values_; ++e) out[e] += p * v[e];
    }
  }

  const Options& options_;
  std::vector<double> q_, k_, v_;
  std::int64_t heads_ = 0, queries_ = 0, width_ = 0, key_heads_ = 0, keys_ = 0, values_ = 0;
  double scale_ = 1;
  Textbook book_;
};

// Keeps the worst element of a comparison.
struct Worst {
  double excess = 0;  // error divided by its bound
  Shape<4> at{};
  double want = 0, got = 0, limit = 0;

  void look(const Shape<4>& where, double wanted, double gotten, double allowed) {
    double over = std::abs(wanted - gotten) / allowed;
    if (wanted == gotten || (std::isnan(wanted) && std::isnan(gotten))) return;
    if (!std::isfinite(over)) over = kInfinity;
    if (over > excess) *this = {over, where, wanted, gotten, allowed};
  }

  [[nodiscard]] testing::AssertionResult verdict(const char* what) const {
    if (excess <= 1) return testing::AssertionSuccess();
    return testing::AssertionFailure() << what << "[" << at[0] << "," << at[1] << "," << at[2] << "," << at[3]
                                       << "] is " << got << ", the textbook says " << want << ", allowed is +-" << limit
                                       << " (" << excess << " times that)";
  }
};

}  // namespace

std::vector<TextbookSequence> sequences_of(const Inputs& in) {
  const std::int64_t queries = in.q.shape[2], keys = in.k.shape[2];
  std::vector<TextbookSequence> sequences;
  for (std::int64_t b = 0; b < in.q.shape[0]; ++b) sequences.push_back({b, b, 0, queries, 0, keys, queries - 1});
  return sequences;
}

std::vector<TextbookSequence> sequences_of(const Packing& packing) {
  std::int64_t longest = 0;
  for (std::size_t s = 0; s + 1 < packing.queries.size(); ++s)
    longest = std::max(longest, packing.queries[s + 1] - packing.queries[s]);
  std::vector<TextbookSequence> sequences;
  for (std::size_t s = 0; s + 1 < packing.queries.size(); ++s) {
    const std::int64_t q = packing.queries[s], k = packing.keys[s];
    sequences.push_back(
        {0, static_cast<std::int64_t>(s), q, packing.queries[s + 1] - q, k, packing.keys[s + 1] - k, longest - 1});
  }
  return sequences;
}

Textbook textbook(const Inputs& in, const Options& options) {
  Solver solver(in, options);
  solver.keep_weights();
  for (const TextbookSequence& s : sequences_of(in)) solver.solve(s);
  return solver.take();
}

Textbook textbook(const Inputs& in, const Options& options, const Packing& packing) {
  Solver solver(in, options);
  for (const TextbookSequence& s : sequences_of(packing)) solver.solve(s);
  return solver.take();
}

std::vector<double> linear_textbook(const Inputs& in, const LinearOptions& options) {
  const auto [batch, heads, queries, width] = in.q.shape;
  const std::int64_t share = heads / in.k.shape[1], keys = in.k.shape[2], values = in.v.shape[3];
  const auto phi = [&, w = width](const AnyView<4>& view, const Shape<4>& row) {
    std::vector<float> x(static_cast<std::size_t>(w));
    for (std::int64_t d = 0; d < w; ++d) x[static_cast<std::size_t>(d)] = element(view, {row[0], row[1], row[2], d});
    if (options.map != nullptr) {
      std::vector<float> mapped(static_cast<std::size_t>(options.map->width));
      options.map->map(x.data(), mapped.data());
      return std::vector<double>(mapped.begin(), mapped.end());
    }
    std::vector<double> y(x.begin(), x.end());
    for (double& e : y) {
      if (options.feature == Feature::elu_plus_one) e = e > 0 ? e + 1 : std::exp(e);
      if (options.feature == Feature::relu) e = std::max(e, 0.0);
    }
    return y;
  };
  std::vector<double> out(static_cast<std::size_t>(batch * heads * queries * values));
  double* to = out.data();
  each({batch, heads, queries, 1}, [&](const Shape<4>& at) {
    const auto q = phi(in.q, at);
    double sum = options.epsilon;
    for (std::int64_t j = 0; j < (options.causal ? at[2] + 1 : keys); ++j) {
      const auto k = phi(in.k, {at[0], at[1] / share, j, 0});
      double weight = 0;
      for (std::size_t f = 0; f < q.size(); ++f) weight += q[f] * k[f];
      sum += weight;
      for (std::int64_t e = 0; e < values; ++e) to[e] += weight * element(in.v, {at[0], at[1] / share, j, e});
    }
    for (std::int64_t e = 0; e < values; ++e) to[e] /= sum;
    to += values;
  });
  return out;
}

testing::AssertionResult out_agrees(const Textbook& book, const View<const float, 4>& out) {
  Worst worst;
  std::size_t e = 0;
  each(book.shape, [&](const Shape<4>& at) {
    const double doubt = book.doubt[e / static_cast<std::size_t>(book.shape[3])];
    const double limit = (2e-5 + 4 * doubt) * book.largest_value;
    worst.look(at, book.out[e], out(at[0], at[1], at[2], at[3]), limit);
    ++e;
  });
  return worst.verdict("out");
}

testing::AssertionResult lse_agrees(const Textbook& book, const View<const float, 3>& lse) {
  Worst worst;
  std::size_t row = 0;
  each({book.shape[0], book.shape[1], book.shape[2], 1}, [&](const Shape<4>& at) {
    const double want = book.lse[row];
    const double limit = 1e-5 * (1 + (std::isfinite(want) ? std::abs(want) : 0)) + 4 * book.doubt[row];
    worst.look(at, want, lse(at[0], at[1], at[2]), limit);
    ++row;
  });
  return worst.verdict("lse");
}

testing::AssertionResult weights_agree(const Textbook& book, const View<const float, 4>& weights, Rectangle window) {
  Worst worst;
  each(weights.shape, [&](const Shape<4>& at) {
    const std::int64_t row = (at[0] * book.shape[1] + at[1]) * book.shape[2] + window.row + at[2];
    const double want = book.weights[static_cast<std::size_t>(row * book.keys + window.col + at[3])];
    worst.look(at, want, weights(at[0], at[1], at[2], at[3]), 1e-5 + 4 * book.doubt[static_cast<std::size_t>(row)]);
  });
  return worst.verdict("weights");
}

}  // namespace attn::test
