// tests/engine/backward/backward_golden_test.cc - gradients against torch's autograd; tests/golden/make_backward.py
// generates the numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/backward.h"
#include "tests/engine/backward/backward_support.h"
#include "tests/support/problem.h"
#include "tests/support/targets.h"

namespace attn::test {
namespace {

struct GradientCase {
  std::string name;
  std::map<std::string, std::string> keys;
  // Text, parsed inside the test, because every test process constructs all cases.
  std::map<std::string, std::string> gradients;

  [[nodiscard]] std::int64_t whole(const char* key) const { return std::stoll(keys.at(key)); }
  [[nodiscard]] float number(const char* key) const { return std::stof(keys.at(key)); }
};

void PrintTo(const GradientCase& c, std::ostream* out) { *out << c.name; }

std::vector<GradientCase> read_cases() {
  std::ifstream file(ATTNSCOPE_GOLDEN "/backward.golden");
  if (!file) throw std::runtime_error("no golden file of gradients");
  std::vector<GradientCase> cases;
  for (std::string line; std::getline(file, line);) {
    const std::string name = line.substr(0, line.find(' '));
    if (line.find('=') == std::string::npos) {
      cases.back().gradients[name] = line.substr(name.size());
      continue;
    }
    cases.push_back({name, {}, {}});
    std::istringstream words(line.substr(name.size()));
    for (std::string word; words >> word;)
      cases.back().keys[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  return cases;
}

std::vector<double> numbers_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> numbers;
  for (double x = 0; words >> x;) numbers.push_back(x);
  return numbers;
}

Problem problem_of(const GradientCase& c) {
  const auto stream = 10 * static_cast<std::uint64_t>(c.whole("seed"));
  Problem p = plain_problem(
      {c.whole("B"), c.whole("H"), c.whole("G"), c.whole("N"), c.whole("M"), c.whole("D"), c.whole("E")}, stream + 1);
  if (c.number("scale") != 0) p.options.scale = c.number("scale");
  p.options.softcap = c.number("softcap");
  p.options.mask = parse_mask(c.keys.at("mask"));
  if (c.whole("bias") != 0) p.give_bias(stream + 5, c.whole("bias") > 1);
  if (c.whole("sink") != 0) p.give_sink(stream + 6);
  return p;
}

GradientTensors differentiate_linear(const GradientCase& c, const Problem& p, const Tensor& d_out) {
  LinearOptions options;
  options.feature = c.keys.at("feature") == "elu" ? Feature::elu_plus_one : Feature::relu;
  options.causal = c.keys.at("mask") == "causal";
  options.epsilon = 1e-2F;
  return differentiate_linear(p, options, d_out);
}

class GoldenGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(GoldenGradient, AgreesWithTorch) {
  const GradientCase& c = GetParam();
  const Problem p = problem_of(c);
  const Tensor d_out = random_d_out(p, 10 * static_cast<std::uint64_t>(c.whole("seed")) + 4);
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const GradientTensors g =
        c.keys.at("feature") == "none" ? differentiate(p, d_out) : differentiate_linear(c, p, d_out);
    const std::map<std::string, const Tensor*> got{
        {"dq", &g.dq}, {"dk", &g.dk}, {"dv", &g.dv}, {"d_bias", &g.d_bias}, {"d_sink", &g.d_sink}};
    for (const auto& [name, text] : c.gradients) {
      const std::vector<double> want = numbers_in(text);
      ASSERT_EQ(static_cast<std::size_t>(got.at(name)->floats().size()), want.size()) << name;
      std::size_t n = 0;
      each(got.at(name)->shape(), [&](const Shape<4>& at) {
        EXPECT_NEAR(got.at(name)->get(at), want[n], 2e-5 * (1 + std::abs(want[n]))) << name << " " << n;
        ++n;
      });
    }
  });
}
INSTANTIATE_TEST_SUITE_P(Case, GoldenGradient, testing::ValuesIn(read_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace attn::test
