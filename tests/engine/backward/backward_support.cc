// backward_support.cc
#include "tests/engine/backward/backward_support.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/support/numbers.h"
#include "tests/support/reference.h"

namespace attn::test {
namespace {

// Row-major access to numbers of any type, in double.
class Array {
 public:
  explicit Array(const AnyView<4>& view) : shape_(view.shape) {
    each(view.shape, [&](const Shape<4>& at) { x_.push_back(element(view, at)); });
  }
  [[nodiscard]] std::size_t at(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return static_cast<std::size_t>(((b * shape_[1] + h) * shape_[2] + i) * shape_[3]);
  }
  double operator[](std::size_t n) const { return x_[n]; }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(shape_[3]); }
  [[nodiscard]] std::size_t size() const { return x_.size(); }
  [[nodiscard]] std::int64_t heads() const { return shape_[1]; }

 private:
  Shape<4> shape_;
  std::vector<double> x_;
};

class Differentiator {
 public:
  Differentiator(const Problem& p, const Textbook& book, const Tensor& d_out)
      : p_(p),
        book_(book),
        q_(p.q.view()),
        k_(p.k.view()),
        v_(p.v.view()),
        d_out_(d_out.view()),
        result_{Sums(q_.size()),     Sums(k_.size()),     Sums(v_.size()),
                Sums(p.bias.size()), Sums(p.sink.size()), Sums(p.dense_bias.size())} {
    scale_ = p.options.scale ? *p.options.scale : 1 / std::sqrt(static_cast<double>(p.sizes.D));
  }

  void solve(const TextbookSequence& s) {
    for (std::int64_t h = 0; h < p_.sizes.H; ++h)
      for (std::int64_t i = 0; i < s.queries; ++i) solve_row(s, h, i);
  }
  TextbookGradients take() { return std::move(result_); }

 private:
  struct Score {
    double value = 0;  // natural
    double slope = 1;  // of the cap
  };

  Score score(const TextbookSequence& s, std::int64_t h, std::int64_t i, std::int64_t j, std::size_t q,
              std::size_t k) const {
    Score x;
    for (std::size_t d = 0; d < q_.width(); ++d) x.value += scale_ * q_[q + d] * k_[k + d];
    if (const double cap = p_.options.softcap; cap > 0) {
      const double t = std::tanh(x.value / cap);
      x = {cap * t, 1 - t * t};
    }
    const auto& bias = p_.options.bias;
    if (!bias.empty()) x.value += bias(bias.shape[0] == 1 ? 0 : h, j - i + s.bias_zero);
    for (const View<const float, 4>& dense : {p_.options.dense_bias, p_.options.mask.bias()}) {
      if (dense.empty()) continue;
      const auto& n = dense.shape;
      x.value += dense(n[0] == 1 ? 0 : s.batch, n[1] == 1 ? 0 : h, n[2] == 1 ? 0 : i, j);
    }
    return x;
  }

  void solve_row(const TextbookSequence& s, std::int64_t h, std::int64_t i) {
    const std::size_t q = q_.at(s.b, h, s.first_query + i), o = d_out_.at(s.b, h, s.first_query + i);
    const std::int64_t g = h / (p_.sizes.H / p_.sizes.G);
    const double lse = book_.lse[o / d_out_.width()];
    if (lse == -kInfinity) return;
    const float rate = p_.options.dropout.rate;
    const double rounding = 1e-5 + 4 * book_.doubt[o / d_out_.width()];
    double delta = 0;
    for (std::size_t e = 0; e < d_out_.width(); ++e) delta += d_out_[o + e] * book_.out[o + e];
    for (std::int64_t j = 0; j < s.keys; ++j) {
      if (!p_.options.mask.allows(s.batch, h, i, j)) continue;
      const std::size_t k = k_.at(s.b, g, s.first_key + j), v = v_.at(s.b, g, s.first_key + j);
      const Score x = score(s, h, i, j, q, k);
      const double weight = std::exp(x.value - lse);
      const double kept = rate == 0 ? 1 : dropout_keeps(p_.options.dropout, s.batch, h, i, j) ? 1 / (1.0 - rate) : 0;
      double dp = 0, size = 0;
      for (std::size_t e = 0; e < v_.width(); ++e) {
        dp += kept * d_out_[o + e] * v_[v + e];
        size += std::abs(d_out_[o + e]) * (std::abs(kept * v_[v + e]) + std::abs(book_.out[o + e]));
        const double x_v = kept * weight * d_out_[o + e];
        result_.dv.add(v + e, x_v, rounding * std::abs(x_v));
      }
      const double ds = weight * (dp - delta), doubt = rounding * weight * size;
      if (!p_.bias.empty()) {
        const auto& shape = p_.options.bias.shape;
        const std::int64_t at = (shape[0] == 1 ? 0 : h) * shape[1] + j - i + s.bias_zero;
        result_.d_bias.add(static_cast<std::size_t>(at), ds, doubt);
      }
      if (!p_.dense_bias.empty()) {
        const auto& n = p_.options.dense_bias.shape;
        const std::int64_t row = ((n[0] == 1 ? 0 : s.batch) * n[1] + (n[1] == 1 ? 0 : h)) * n[2] + (n[2] == 1 ? 0 : i);
        result_.d_dense_bias.add(static_cast<std::size_t>(row * n[3] + j), ds, doubt);
      }
      for (std::size_t d = 0; d < q_.width(); ++d) {
        const double c = scale_ * x.slope;
        result_.dq.add(q + d, c * ds * k_[k + d], std::abs(scale_ * doubt * k_[k + d]));
        result_.dk.add(k + d, c * ds * q_[q + d], std::abs(scale_ * doubt * q_[q + d]));
      }
    }
    if (p_.sink.empty()) return;
    const double share = std::exp(p_.options.sink(h) - lse);
    double size = 0;
    for (std::size_t e = 0; e < d_out_.width(); ++e) size += std::abs(d_out_[o + e] * book_.out[o + e]);
    result_.d_sink.add(static_cast<std::size_t>(h), -share * delta, rounding * share * size);
  }

  const Problem& p_;
  const Textbook& book_;
  Array q_, k_, v_, d_out_;
  double scale_ = 1;
  TextbookGradients result_;
};

testing::AssertionResult one_agrees(const char* name, const Sums& book, const Tensor& got) {
  double mean = 0;
  for (const double x : book.doubt) mean += x / static_cast<double>(book.doubt.size());
  testing::AssertionResult result = testing::AssertionSuccess();
  double worst = 1;
  std::size_t n = 0;
  each(got.shape(), [&](const Shape<4>& at) {
    const double want = book.value[n], is = got.get(at), limit = book.doubt[n] + mean + 1e-30;
    ++n;
    if (std::abs(want - is) <= worst * limit || (std::isnan(want) && std::isnan(is))) return;
    worst = std::isnan(is) ? kInfinity : std::abs(want - is) / limit;
    result = testing::AssertionFailure() << name << "[" << at[0] << "," << at[1] << "," << at[2] << "," << at[3]
                                         << "] is " << is << ", the textbook says " << want << ", allowed is +-"
                                         << limit << " (" << worst << " times that)";
  });
  return result;
}

Shape<4> bias_shape(const Problem& p) {
  return p.bias.empty() ? Shape<4>{} : Shape<4>{1, 1, p.options.bias.shape[0], p.options.bias.shape[1]};
}

void backward_into(const Problem& p, const Packing* packing, const Tensor& d_out, int threads, GradientTensors& to) {
  ThreadPool pool(threads);
  Results r(p.sizes);
  const Outputs outputs{r.out.floats(), r.lse_view(), d_out.floats()};
  if (packing == nullptr) {
    attention(p.inputs(), p.options, r.out.floats(), r.lse_view(), pool);
    attention_backward(p.inputs(), p.options, outputs, to.to(), pool);
  } else {
    attention(p.inputs(), p.options, *packing, r.out.floats(), r.lse_view(), pool);
    attention_backward(p.inputs(), p.options, *packing, outputs, to.to(), pool);
  }
}

}  // namespace

TextbookGradients textbook_gradients(const Problem& p, const Tensor& d_out) {
  const Textbook book = textbook(p.inputs(), p.options);
  Differentiator d(p, book, d_out);
  for (const TextbookSequence& s : sequences_of(p.inputs())) d.solve(s);
  return d.take();
}

TextbookGradients textbook_gradients(const Problem& p, const Packing& packing, const Tensor& d_out) {
  const Textbook book = textbook(p.inputs(), p.options, packing);
  Differentiator d(p, book, d_out);
  for (const TextbookSequence& s : sequences_of(packing)) d.solve(s);
  return d.take();
}

GradientTensors::GradientTensors(const Problem& p, Layout layout)
    : dq(p.q.shape(), Type::float32, layout),
      dk(p.k.shape(), Type::float32, layout),
      dv(p.v.shape(), Type::float32, layout),
      d_bias(bias_shape(p)),
      d_sink(p.sink.empty() ? Shape<4>{} : Shape<4>{1, 1, 1, p.sizes.H}),
      d_dense_bias(p.dense_bias.empty() ? Shape<4>{} : p.options.dense_bias.shape) {}

Gradients GradientTensors::to() noexcept {
  Gradients g{dq.floats(), dk.floats(), dv.floats(), {}, {}};
  if (d_bias.shape()[3] != 0) g.d_bias = {d_bias.floats().data, {d_bias.shape()[2], d_bias.shape()[3]}};
  if (d_dense_bias.shape()[3] != 0) g.d_dense_bias = d_dense_bias.floats();
  if (d_sink.shape()[3] != 0) g.d_sink = {d_sink.floats().data, {d_sink.shape()[3]}};
  return g;
}

bool GradientTensors::untouched() const {
  bool whole = true;
  for (const Tensor* t : {&dq, &dk, &dv, &d_bias, &d_sink, &d_dense_bias})
    each(t->shape(), [&](const Shape<4>& at) { whole = whole && std::isnan(t->get(at)); });
  return whole;
}

bool GradientTensors::same_bits(const GradientTensors& other) const {
  return dq.bytes() == other.dq.bytes() && dk.bytes() == other.dk.bytes() && dv.bytes() == other.dv.bytes() &&
         d_bias.bytes() == other.d_bias.bytes() && d_sink.bytes() == other.d_sink.bytes() &&
         d_dense_bias.bytes() == other.d_dense_bias.bytes();
}

GradientTensors differentiate(const Problem& p, const Tensor& d_out, int threads) {
  GradientTensors to(p);
  backward_into(p, nullptr, d_out, threads, to);
  return to;
}

GradientTensors differentiate(const Problem& p, const Packing& packing, const Tensor& d_out, int threads) {
  GradientTensors to(p);
  backward_into(p, &packing, d_out, threads, to);
  return to;
}

GradientTensors differentiate_linear(const Problem& p, const LinearOptions& options, const Tensor& d_out, int threads,
                                     Layout layout) {
  ThreadPool pool(threads);
  Tensor out({p.sizes.B, p.sizes.H, p.sizes.N, p.sizes.E});
  linear_attention(p.inputs(), options, out.floats(), pool);
  GradientTensors g(p, layout);
  const Tensor& read = out;
  linear_backward(p.inputs(), options, {read.floats(), {}, d_out.floats()}, g.to(), pool);
  return g;
}

Tensor random_d_out(const Problem& p, std::uint64_t seed) {
  Tensor d_out({p.sizes.B, p.sizes.H, p.sizes.N, p.sizes.E});
  d_out.fill(seed);
  return d_out;
}

testing::AssertionResult agree(const TextbookGradients& book, const GradientTensors& got) {
  for (const auto& [name, sums, tensor] :
       {std::tuple{"dq", &book.dq, &got.dq}, std::tuple{"dk", &book.dk, &got.dk}, std::tuple{"dv", &book.dv, &got.dv},
        std::tuple{"d_bias", &book.d_bias, &got.d_bias}, std::tuple{"d_sink", &book.d_sink, &got.d_sink},
        std::tuple{"d_dense_bias", &book.d_dense_bias, &got.d_dense_bias}}) {
    const auto result = one_agrees(name, *sums, *tensor);
    if (!result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace attn::test
