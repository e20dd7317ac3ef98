#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "attn/ring_support.h"
#include "mpi_world.h"
#include "support/errors.h"
#include "support/reference.h"

namespace attn::test {
namespace {

TEST(RingOverMpi, GivesWhatTheTextbookSays) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Problem p = random_problem(7000 + seed);
    SCOPED_TRACE(p.text + ", " + std::to_string(world().size()) + " ranks");
    const Tensor d_out = random_d_out(p);
    if (p.sizes.N < world().size() || p.sizes.M < world().size()) continue;
    const RingRun run = run_ring(p, d_out, world());
    EXPECT_TRUE(out_agrees(textbook(p.inputs(), p.options), run.results.out.floats()));
    EXPECT_TRUE(lse_agrees(textbook(p.inputs(), p.options), run.results.lse_view()));
    EXPECT_TRUE(agree(textbook_gradients(p, d_out), run.gradients));
  }
}

double largest(const Tensor& tensor) {
  double most = 1;
  for (const float x : std::span(tensor.floats().data, static_cast<std::size_t>(tensor.floats().size()))) {
    most = std::max(most, std::abs(static_cast<double>(x)));
  }
  return most;
}

// Parcels of megabytes, which do not go without asking.
TEST(RingOverMpi, IsTheOneProcessAnswerToAHundredThousandth) {
  for (const char* mask : {"causal", "window(300)"}) {
    Problem p = plain_problem({.H = 4, .G = 4, .N = 4099, .M = 4099, .D = 64, .E = 64});
    p.options.mask = parse_mask(mask);
    const Tensor d_out = random_d_out(p);
    const RingRun all = run_ring(p, d_out, world());
    const Results one = run(p);
    const GradientTensors gradients = differentiate(p, d_out);
    EXPECT_LT(distance(all.results.out, one.out), 1e-5 * largest(one.out)) << mask;
    EXPECT_LT(distance(all.results.lse, one.lse), 1e-5 * largest(one.lse)) << mask;
    EXPECT_LT(distance(all.gradients.dq, gradients.dq), 1e-5 * largest(gradients.dq)) << mask;
    EXPECT_LT(distance(all.gradients.dk, gradients.dk), 1e-5 * largest(gradients.dk)) << mask;
    EXPECT_LT(distance(all.gradients.dv, gradients.dv), 1e-5 * largest(gradients.dv)) << mask;
  }
}

TEST(RingOverMpi, AnotherShapeOnOneRankIsToldByAll) {
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

TEST(RingOverMpi, MoreRanksThanTokensAreToldByAll) {
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
