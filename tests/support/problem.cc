// support/problem.cc
#include "tests/support/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/support/numbers.h"

namespace attn::test {
namespace {

std::int64_t random_length(Random& random) {
  if (random.chance(0.4)) return random.between(1, 40);
  if (random.chance(0.3)) return random.between(1, 300);
  return random.pick<std::int64_t>({1, 2, 11, 12, 13, 16, 24, 25, 63, 64, 65, 127, 128, 129, 255, 256, 257, 513});
}

std::int64_t random_width(Random& random) {
  if (random.chance(0.3)) return random.between(1, 100);
  return random.pick<std::int64_t>({1, 2, 3, 4, 7, 8, 16, 17, 32, 40, 64, 64, 72, 80, 128, 256, 512});
}

// The textbook takes about 1 ns per product.
Sizes random_sizes(Random& random) {
  const double most = random.chance(0.1) ? 1e8 : 1.5e7;
  for (;;) {
    Sizes s;
    s.B = random.between(1, 3);
    s.G = random.pick<std::int64_t>({1, 1, 2, 3});
    s.H = s.G * random.pick<std::int64_t>({1, 1, 2, 3, 4, 8});
    s.N = random_length(random);
    s.M = random.chance(0.3) ? s.N : random_length(random);
    s.D = random_width(random);
    s.E = random.chance(0.6) ? s.D : random_width(random);
    if (static_cast<double>(s.B * s.H * s.N * s.M * (s.D + s.E)) <= most) return s;
  }
}

std::vector<std::int64_t> random_lengths(Random& random, const Extent& extent) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(random.chance(0.5) ? 1 : extent.batch));
  for (auto& length : lengths) length = random.chance(0.1) ? 0 : random.between(1, extent.keys);
  return lengths;
}

Mask random_table(Random& random, const Extent& extent) {
  const Shape<4> shape{random.chance(0.5) ? 1 : extent.batch, random.chance(0.5) ? 1 : extent.heads,
                       random.chance(0.2) ? 1 : extent.queries, extent.keys};
  const auto size = static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]);
  const double share = random.uniform();
  if (random.chance(0.5)) {
    std::vector<std::uint8_t> bits(size);
    for (auto& bit : bits) bit = random.chance(share) ? 1 : 0;
    return table(View<const std::uint8_t, 4>(bits.data(), shape));
  }
  std::vector<float> values(size);
  for (auto& value : values)
    value = random.chance(share) ? random.uniform(-2, 2)
                                 : random.pick<float>({-kInfinity, std::numeric_limits<float>::lowest(), -1e9F, 0.0F});
  return additive(View<const float, 4>(values.data(), shape));
}

Mask random_rule(Random& random, const Extent& extent) {
  const std::int64_t n = extent.queries, m = extent.keys;
  switch (random.below(10)) {
    case 0:
      return Causal{};
    case 1:
      return Causal{random.chance(0.5) ? m - n : random.between(-n, m)};
    case 2:
      return Window{random.below(m + 1)};
    case 3:
      return Window{random.below(m + 1), random.below(20)};
    case 4:
      return Sparse{random.between(1, 20)};
    case 5:
      return Block{random.between(1, 100)};
    case 6:
      return Padding{random_lengths(random, extent)};
    case 7: {
      if (n != m) return Global{random.below(5)};
      std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
      for (std::size_t i = 1; i < ids.size(); ++i) ids[i] = random.chance(0.1) ? random.below(5) : ids[i - 1];
      return Document{ids};
    }
    case 8:
      return Mask(Causal{}) | Prefix{random_lengths(random, extent)};
    default:
      return random_table(random, extent);
  }
}

template <typename T>
T either(Random& random, double probability, T often, T seldom) {
  return random.chance(probability) ? often : seldom;
}

Layout random_layout(Random& random) {
  return random.pick(
      {Layout::dense, Layout::dense, Layout::transposed, Layout::sliced, Layout::reversed, Layout::shared});
}

void random_inputs(Random& random, Problem& p) {
  const Sizes& s = p.sizes;
  const auto any_type = [&] { return random.pick({Type::float32, Type::float32, Type::float16, Type::bfloat16}); };
  const Type type = any_type();
  const auto make = [&](const Shape<4>& shape, float factor) {
    const Type its = either(random, 0.8, type, any_type());
    const Layout layout = random_layout(random);
    p.text += std::string(" ") + name_of(its) + "/" + name_of(layout);
    Tensor t(shape, its, layout);
    t.fill(random.bits() >> 33, factor);
    return t;
  };
  p.q = make({s.B, s.H, s.N, s.D}, random.chance(0.1) ? 5.0F : 1.0F);
  p.k = make({s.B, s.G, s.M, s.D}, 1);
  p.v = make({s.B, s.G, s.M, s.E}, random.chance(0.1) ? 100.0F : 1.0F);
}

void random_options(Random& random, Problem& p) {
  const Sizes& s = p.sizes;
  Options& o = p.options;
  std::ostringstream says;
  if (random.chance(0.4))
    o.scale = random.pick<float>({0, 1, 0.1F, 0.3F, -0.2F, 8 / std::sqrt(static_cast<float>(s.D))});
  if (o.scale) says << " scale " << *o.scale;
  if (random.chance(0.2)) says << " softcap " << (o.softcap = random.pick<float>({0.5F, 5, 50}));
  if (random.chance(0.25)) {
    p.give_bias(random.bits() >> 33, random.chance(0.5));
    says << " bias [" << o.bias.shape[0] << "," << o.bias.shape[1] << "]";
  }
  if (random.chance(0.2)) {
    const Shape<4> shape{random.chance(0.5) ? 1 : s.B, random.chance(0.5) ? 1 : s.H, random.chance(0.3) ? 1 : s.N, s.M};
    p.give_dense_bias(random.bits() >> 33, shape);
    if (random.chance(0.3)) p.dense_bias[static_cast<std::size_t>(random.below(s.M))] = -kInfinity;
    says << " dense bias [" << shape[0] << "," << shape[1] << "," << shape[2] << "," << shape[3] << "]";
  }
  if (random.chance(0.2)) {
    p.give_sink(random.bits() >> 33);
    says << " sink";
  }
  if (random.chance(0.2)) {
    o.dropout = {random.pick<float>({0.1F, 0.5F, 0.9F}), random.bits()};
    says << " dropout " << o.dropout.rate;
  }
  p.text += says.str();
}

}  // namespace

std::string Sizes::text() const {
  std::ostringstream says;
  says << "B " << B << " H " << H << " G " << G << " N " << N << " M " << M << " D " << D << " E " << E;
  return says.str();
}

void Problem::give_bias(std::uint64_t seed, bool per_head) {
  const Shape<2> shape{per_head ? sizes.H : 1, sizes.N + sizes.M - 1};
  bias.resize(static_cast<std::size_t>(shape[0] * shape[1]));
  for (std::size_t n = 0; n < bias.size(); ++n) bias[n] = bell(seed, n);
  options.bias = {bias.data(), shape};
}

void Problem::give_dense_bias(std::uint64_t seed, const Shape<4>& shape) {
  dense_bias.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::size_t n = 0; n < dense_bias.size(); ++n) dense_bias[n] = bell(seed, n);
  options.dense_bias = {dense_bias.data(), shape};
}

void Problem::give_sink(std::uint64_t seed) {
  sink.resize(static_cast<std::size_t>(sizes.H));
  for (std::size_t n = 0; n < sink.size(); ++n) sink[n] = bell(seed, n);
  options.sink = {sink.data(), {sizes.H}};
}

Problem plain_problem(const Sizes& sizes, std::uint64_t seed, Type type) {
  Problem p;
  p.sizes = sizes;
  p.text = sizes.text();
  p.q = Tensor({sizes.B, sizes.H, sizes.N, sizes.D}, type);
  p.k = Tensor({sizes.B, sizes.G, sizes.M, sizes.D}, type);
  p.v = Tensor({sizes.B, sizes.G, sizes.M, sizes.E}, type);
  p.q.fill(seed);
  p.k.fill(seed + 1);
  p.v.fill(seed + 2);
  return p;
}

Mask random_mask(Random& random, const Extent& extent) {
  Mask mask = random_rule(random, extent);
  for (std::int64_t more = random.below(4); more > 0; --more) {
    Mask other = random_rule(random, extent);
    if (random.chance(0.2) && other.bias().empty()) other = ~other;
    mask = random.chance(0.5) ? mask & other : mask | other;
  }
  return mask;
}

Problem random_problem(std::uint64_t seed) {
  Random random(seed);
  Problem p;
  p.sizes = random_sizes(random);
  p.text = "problem " + std::to_string(seed) + ": " + p.sizes.text();
  random_inputs(random, p);
  if (random.chance(0.8)) p.options.mask = random_mask(random, p.sizes.extent());
  const std::string mask = p.options.mask.text();
  p.text += " mask " + (mask.size() > 120 ? mask.substr(0, 120) + "..." : mask);
  random_options(random, p);
  return p;
}

Results::Results(const Sizes& s, bool with_weights, Layout layout)
    : out({s.B, s.H, s.N, s.E}, Type::float32, layout), lse({1, s.B, s.H, s.N}, Type::float32, layout) {
  if (with_weights) weights = Tensor({s.B, s.H, s.N, s.M}, Type::float32, layout);
}

View<float, 3> Results::lse_view() noexcept {
  const View<float, 4> v = lse.floats();
  return {v.data, {v.shape[1], v.shape[2], v.shape[3]}, {v.strides[1], v.strides[2], v.strides[3]}};
}

View<const float, 3> Results::lse_view() const noexcept {
  const View<const float, 4> v = lse.floats();
  return {v.data, {v.shape[1], v.shape[2], v.shape[3]}, {v.strides[1], v.strides[2], v.strides[3]}};
}

bool Results::untouched() const {
  for (const Tensor* t : {&out, &lse, &weights}) {
    Tensor fresh(t->shape());
    if (!same_bits(*t, fresh)) return false;
  }
  return true;
}

Results run(const Inputs& in, const Options& options, int threads, bool with_weights) {
  const Sizes sizes{in.q.shape[0], in.q.shape[1], in.k.shape[1], in.q.shape[2],
                    in.k.shape[2], in.q.shape[3], in.v.shape[3]};
  Results results(sizes, with_weights);
  ThreadPool pool(threads);
  if (with_weights)
    attention(in, options, results.out.floats(), results.lse_view(), results.weights_view(), pool);
  else
    attention(in, options, results.out.floats(), results.lse_view(), pool);
  return results;
}

Results run(const Problem& problem, int threads, bool with_weights) {
  return run(problem.inputs(), problem.options, threads, with_weights);
}

bool same_bits(const Tensor& a, const Tensor& b) { return a.bytes() == b.bytes(); }

double distance(const Tensor& a, const Tensor& b) {
  double most = 0;
  each(a.shape(), [&](const Shape<4>& at) {
    const double x = a.get(at), y = b.get(at);
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    const double d = std::abs(x - y);
    most = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(most, d);
  });
  return most;
}

}  // namespace attn::test
