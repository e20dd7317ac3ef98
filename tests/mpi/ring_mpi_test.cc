#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/engine/ring/ring_support.h"
#include "tests/mpi/mpi_world.h"
#include "tests/support/errors.h"
#include "tests/support/reference.h"

namespace attn::test {
namespace {

// Whether every rank has the same numbers, so that one of them may check them for all.
bool same_everywhere(const RingRun& run) {
  const GradientTensors& g = run.gradients;
  std::string numbers;
  for (const Tensor* tensor :
       {&run.results.out, &run.results.lse, &g.dq, &g.dk, &g.dv, &g.d_bias, &g.d_sink, &g.d_dense_bias}) {
    const std::vector<std::byte>& bytes = tensor->bytes();
    numbers.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  const std::vector<std::string> all = world().gather(std::to_string(std::hash<std::string>{}(numbers)));
  return std::ranges::count(all, all.front()) == world().size();
}

// Whether this rank checks item n: the checks are distributed over the ranks.
bool is_mine(std::size_t n) { return static_cast<int>(n) % world().size() == world().rank(); }

TEST(RingOverMpi, AgreesWithTheTextbook) {
  std::map<std::size_t, RingRun> runs;  // by seed
  for (std::size_t seed = 7001; seed <= 7060; ++seed) {
    const Problem p = random_problem(seed);
    SCOPED_TRACE(p.text + ", " + std::to_string(world().size()) + " ranks");
    if (p.sizes.N < world().size() || p.sizes.M < world().size()) continue;
    const auto run = runs.emplace(seed, run_ring(p, random_d_out(p), world())).first;
    EXPECT_TRUE(same_everywhere(run->second));
  }
  for (const auto& [seed, run] : runs) {
    if (!is_mine(seed)) continue;
    const Problem p = random_problem(seed);
    SCOPED_TRACE(p.text + ", " + std::to_string(world().size()) + " ranks");
    const Textbook book = textbook(p.inputs(), p.options);
    EXPECT_TRUE(out_agrees(book, run.results.out.floats()));
    EXPECT_TRUE(lse_agrees(book, run.results.lse_view()));
    EXPECT_TRUE(agree(textbook_gradients(p, random_d_out(p)), run.gradients));
  }
}

double largest(const Tensor& tensor) {
  double most = 1;
  for (const float x : std::span(tensor.floats().data, static_cast<std::size_t>(tensor.floats().size()))) {
    most = std::max(most, std::abs(static_cast<double>(x)));
  }
  return most;
}

// Messages of megabytes, beyond MPI's eager limit.
TEST(RingOverMpi, EqualsOneProcessWithinAHundredThousandth) {
  const std::array<const char*, 2> masks{"causal", "window(300)"};
  Problem p = plain_problem({.H = 4, .G = 4, .N = 4099, .M = 4099, .D = 64, .E = 64});
  const Tensor d_out = random_d_out(p);
  std::vector<RingRun> runs;
  for (const char* mask : masks) {
    p.options.mask = parse_mask(mask);
    EXPECT_TRUE(same_everywhere(runs.emplace_back(run_ring(p, d_out, world())))) << mask;
  }
  for (std::size_t n = 0; n < masks.size(); ++n) {
    if (!is_mine(n)) continue;
    const char* mask = masks[n];
    const RingRun& all = runs[n];
    p.options.mask = parse_mask(mask);
    const Results one = run(p);
    const GradientTensors gradients = differentiate(p, d_out);
    EXPECT_LT(distance(all.results.out, one.out), 1e-5 * largest(one.out)) << mask;
    EXPECT_LT(distance(all.results.lse, one.lse), 1e-5 * largest(one.lse)) << mask;
    EXPECT_LT(distance(all.gradients.dq, gradients.dq), 1e-5 * largest(gradients.dq)) << mask;
    EXPECT_LT(distance(all.gradients.dk, gradients.dk), 1e-5 * largest(gradients.dk)) << mask;
    EXPECT_LT(distance(all.gradients.dv, gradients.dv), 1e-5 * largest(gradients.dv)) << mask;
  }
}

TEST(RingOverMpi, AnotherShapeOnOneRankIsReportedByAll) {
  const Problem p = plain_problem({.N = 64, .M = 64, .D = 8, .E = 8});
  RingPart part(p, world());
  const int last = world().size() - 1;
  if (world().rank() == last) part.q = Tensor({1, 1, 3, 8});
  Tensor out({1, 1, part.q.shape()[2], 8});
  ThreadPool pool(1);
  const std::string said =
      argument_error([&] { ring_attention(part.inputs(), part.options, {world(), 64, 64}, out.floats(), {}, pool); });
  EXPECT_NE(said.find("rank " + std::to_string(last) + ": there are 3 queries"), std::string::npos) << said;
}

TEST(RingOverMpi, MoreRanksThanTokensAreReportedByAll) {
  const std::int64_t few = world().size() - 1;
  if (few == 0) GTEST_SKIP() << "one rank is never too many";
  const Tensor q({1, 1, 1, 8});
  Tensor out({1, 1, 1, 8});
  ThreadPool pool(1);
  const std::string said = argument_error(
      [&] { ring_attention({q.view(), q.view(), q.view()}, {}, {world(), few, few}, out.floats(), {}, pool); });
  EXPECT_NE(said.find("ranks cannot share " + std::to_string(few) + " tokens"), std::string::npos) << said;
}

}  // namespace
}  // namespace attn::test
