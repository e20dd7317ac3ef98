// tests/engine/attention/attention_golden_test.cc - attention() against torch; tests/golden/make_attention.py generates
// the numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "tests/support/golden.h"
#include "tests/support/problem.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

std::vector<GoldenCase> softmax_cases() {
  std::vector<GoldenCase> cases = read_golden(ATTNSCOPE_GOLDEN "/attention.golden");
  std::erase_if(cases, [](const GoldenCase& c) { return c.text("kind") != "softmax"; });
  return cases;
}

Mask table_mask(const GoldenCase& c, const Sizes& s) {
  const Shape<4> shape = c.text("mask") == "tables" ? Shape<4>{s.B, s.H, s.N, s.M} : Shape<4>{1, 1, s.N, s.M};
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::size_t n = 0; n < bits.size(); ++n) bits[n] = hash((c.stream(4) << 32) + n) % 4 != 0 ? 1 : 0;
  if (c.text("mask") == "rows") std::fill_n(bits.begin(), s.M, std::uint8_t{0});
  return table(View<const std::uint8_t, 4>(bits.data(), shape));
}

Mask additive_mask(const GoldenCase& c, const Sizes& s) {
  std::vector<float> values(static_cast<std::size_t>(s.N * s.M));
  for (std::size_t n = 0; n < values.size(); ++n) {
    const float forbidden[] = {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::lowest(), -1e9F};
    const std::uint64_t kind = hash((c.stream(4) << 32) + n) % 8;
    values[n] = kind < 3 ? forbidden[kind] : 0.5F * bell(c.stream(4), n);
  }
  return additive(View<const float, 4>(values.data(), {1, 1, s.N, s.M}));
}

// A bias by distance, as in ALiBi (Press et al., 2022): -slope |i - j|.
void give_alibi(Problem& p) {
  const Sizes& s = p.sizes;
  const std::int64_t width = s.N + s.M - 1;
  p.bias.resize(static_cast<std::size_t>(s.H * width));
  for (std::int64_t h = 0; h < s.H; ++h)
    for (std::int64_t n = 0; n < width; ++n)
      p.bias[static_cast<std::size_t>(h * width + n)] =
          static_cast<float>(-std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(s.H)) *
                             std::abs(static_cast<double>(n - s.N + 1)));
  p.options.bias = {p.bias.data(), {s.H, width}};
}

Problem problem_of(const GoldenCase& c) {
  const Sizes s{c.whole("B"), c.whole("H"), c.whole("G"), c.whole("N"), c.whole("M"), c.whole("D"), c.whole("E")};
  Problem p = plain_problem(s, c.stream(1), c.type());
  if (c.number("scale") != 0) p.options.scale = c.number("scale");
  p.options.softcap = c.number("softcap");
  const std::string& mask = c.text("mask");
  if (mask == "causal") p.options.mask = Causal{};
  if (mask == "table" || mask == "tables" || mask == "rows") p.options.mask = table_mask(c, s);
  if (mask == "additive") p.options.mask = additive_mask(c, s);
  if (mask == "alibi") give_alibi(p);
  if (c.whole("sink") != 0) p.give_sink(c.stream(6));
  return p;
}

class Golden : public testing::TestWithParam<GoldenCase> {};

// Inputs are the same bits and torch computed in double precision, so only float rounding differs.
TEST_P(Golden, AgreesWithTorch) {
  const GoldenCase& c = GetParam();
  const Problem p = problem_of(c);
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const Results r = run(p);
    std::size_t n = 0;
    each(r.out.shape(),
         [&](const Shape<4>& at) { EXPECT_NEAR(r.out.get(at), c.out[n++], 2e-5) << at[1] << "," << at[2]; });
    n = 0;
    each(r.lse.shape(), [&](const Shape<4>& at) {
      const float want = c.lse[n++];
      if (std::isinf(want))
        EXPECT_EQ(r.lse.get(at), want);
      else
        EXPECT_NEAR(r.lse.get(at), want, 1e-5 * (1 + std::abs(want)));
    });
  });
}
INSTANTIATE_TEST_SUITE_P(Case, Golden, testing::ValuesIn(softmax_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace attn::test
