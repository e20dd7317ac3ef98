#include "insight/paths/flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "insight/paths/max_flow.h"
#include "insight/paths/residual.h"
#include "tests/insight/random_rows.h"

namespace attn::insight {
namespace {

using test::RandomRows;
using test::refusal_of;

// A small graph with source and sink, and the capacity of its minimum cut, found by trying all cuts.
struct SmallGraph {
  LayeredGraph graph;
  std::vector<Capacity> source, sink;

  SmallGraph(std::int64_t nodes, std::int64_t layers, std::uint64_t seed) : graph{nodes, layers, {}} {
    test::Random random(seed);
    // Some edges are missing and capacities vary widely, so that the algorithm has to take flow back.
    const auto capacity = [&] { return random.chance(0.3) ? 0 : random.below(random.pick({3, 10, 1000})); };
    for (std::int64_t i = 0; i < nodes; ++i) source.push_back(capacity());
    for (std::int64_t i = 0; i < nodes; ++i) sink.push_back(capacity());
    for (std::int64_t e = 0; e < (layers - 1) * nodes * nodes; ++e) graph.between.push_back(capacity());
  }

  // `above`: the nodes on the source's side, one bit per node.
  [[nodiscard]] Capacity cut(std::uint64_t above) const {
    const std::int64_t n = graph.nodes;
    const auto in = [&](std::int64_t layer, std::int64_t node) { return ((above >> (layer * n + node)) & 1U) != 0; };
    Capacity all = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (!in(0, i)) all += source[static_cast<std::size_t>(i)];
      if (in(graph.layers - 1, i)) all += sink[static_cast<std::size_t>(i)];
      for (std::int64_t l = 0; l + 1 < graph.layers; ++l)
        for (std::int64_t j = 0; j < n; ++j)
          if (in(l, i) && !in(l + 1, j)) all += graph.between[static_cast<std::size_t>((l * n + i) * n + j)];
    }
    return all;
  }
  [[nodiscard]] Capacity smallest_cut() const {
    Capacity least = std::numeric_limits<Capacity>::max();
    for (std::uint64_t above = 0; above < std::uint64_t{1} << (graph.nodes * graph.layers); ++above)
      least = std::min(least, cut(above));
    return least;
  }
};

TEST(MaxFlow, EqualsTheMinimumCut) {
  MaxFlow flow;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto layers = static_cast<std::int64_t>(1 + seed % 4), nodes = static_cast<std::int64_t>(1 + seed % 3);
    const SmallGraph small(nodes, layers, seed);
    EXPECT_EQ(flow.solve(small.graph, small.source, small.sink), small.smallest_cut()) << "seed " << seed;
  }
}

TEST(MaxFlow, TakesBackFlowSentTheWrongWay) {
  // Node 0 tries node 0 below first, which is the only path for node 1.
  LayeredGraph graph{.nodes = 2, .layers = 2, .between = {1, 1, 1, 0}};
  const std::vector<Capacity> source = {1, 1}, sink = {1, 1};
  EXPECT_EQ(MaxFlow().solve(graph, source, sink), 2);
}

TEST(Flow, ThroughOneLayerIsTheEdgeItself) {
  ThreadPool pool(1);
  const InMemoryTables tables = RandomRows{}.tables();
  nn::Matrix a(8, 8);
  with_residual(tables, 0, 0, a.view(), pool);
  const nn::Matrix flows = flow(tables, {0, {2, 7}}, pool);
  for (std::int64_t j = 0; j < 8; ++j) {
    EXPECT_EQ(flows.row(0)[j], a.row(2)[j]);
    EXPECT_EQ(flows.row(1)[j], a.row(7)[j]);
  }
}

// Through two layers every path has one node in the middle, and no two paths share an edge.
TEST(Flow, ThroughTwoLayersIsTheSumOfTheNarrowerEdges) {
  ThreadPool pool(2);
  const InMemoryTables tables = RandomRows{.n = 20}.tables();
  nn::Matrix below(20, 20), above(20, 20);
  with_residual(tables, 0, 0, below.view(), pool);
  with_residual(tables, 1, 0, above.view(), pool);
  const nn::Matrix flows = flow(tables, {1, {4}}, pool);
  for (std::int64_t j = 0; j < 20; ++j) {
    double sum = 0;
    for (std::int64_t k = 0; k < 20; ++k) sum += std::min(above.row(4)[k], below.row(k)[j]);
    EXPECT_NEAR(flows.row(0)[j], sum, 1e-6);
  }
}

TEST(Flow, IsBoundedByTheCapacityOutOfTheTokenAndIntoTheInput) {
  ThreadPool pool(2);
  for (const bool causal : {false, true}) {
    const InMemoryTables tables = RandomRows{.layers = 4, .n = 24, .causal = causal, .sharpness = 8}.tables();
    nn::Matrix first(24, 24);
    with_residual(tables, 0, 0, first.view(), pool);
    const nn::Matrix flows = flow(tables, {3, {0, 11, 23}}, pool);
    const std::int64_t tokens[] = {0, 11, 23};
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t j = 0; j < 24; ++j) {
        double into = 0;
        for (std::int64_t k = 0; k < 24; ++k) into += first.row(k)[j];
        EXPECT_LE(flows.row(t)[j], std::min(1.0, into) + 1e-6);
        EXPECT_GE(flows.row(t)[j], 0);
        if (causal && j > tokens[t]) {
          EXPECT_EQ(flows.row(t)[j], 0);
        }
      }
      EXPECT_GE(flows.row(t)[tokens[t]], 0.5F - 1e-6F);  // half of a token goes straight through
    }
  }
}

TEST(Flow, SameBitsForAnyNumberOfThreads) {
  ThreadPool one(1), three(3);
  const InMemoryTables tables = RandomRows{.layers = 5, .n = 30}.tables();
  const nn::Matrix a = flow(tables, {4, {1, 20}}, one), b = flow(tables, {4, {1, 20}}, three);
  EXPECT_TRUE(std::equal(a.data(), a.data() + 60, b.data()));
}

TEST(Flow, RejectsMoreThan512TokensNamingBothNumbers) {
  ThreadPool pool(2);
  const InMemoryTables tables = RandomRows{.layers = 1, .heads = 1, .n = 513}.tables();
  const std::string said = refusal_of([&] { flow(tables, {0, {0}}, pool); });
  EXPECT_NE(said.find("512"), std::string::npos) << said;
  EXPECT_NE(said.find("513"), std::string::npos) << said;
}

TEST(Flow, ErrorNamesAMissingTokenOrLayer) {
  ThreadPool pool(1);
  const InMemoryTables tables = RandomRows{}.tables();
  EXPECT_EQ(refusal_of([&] { flow(tables, {1, {-1}}, pool); }), "there is no token -1: tokens count from 0 to 7");
  EXPECT_EQ(refusal_of([&] { flow(tables, {5, {0}}, pool); }), "there is no layer 5: layers count from 0 to 1");
}

}  // namespace
}  // namespace attn::insight
