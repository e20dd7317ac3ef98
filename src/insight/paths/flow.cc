#include "insight/paths/flow.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "insight/paths/max_flow.h"

namespace attn::insight {

namespace {

constexpr int kFractionBits = 50;  // a sum of 512 capacities of at most 1 still fits into 63 bits

Capacity whole(float capacity) {
  return static_cast<Capacity>(std::llround(std::ldexp(static_cast<double>(capacity), kFractionBits)));
}

// A of the layers 0 to `layer`.
std::vector<nn::Matrix> layer_tables(const AttentionTables& tables, std::int64_t layer, ThreadPool& pool) {
  const std::int64_t n = tables.stack(Kind::self).queries;
  std::vector<nn::Matrix> layer_matrices;
  for (std::int64_t l = 0; l <= layer; ++l) {
    layer_matrices.emplace_back(n, n);
    with_residual(tables, l, 0, layer_matrices.back().view(), pool);
  }
  return layer_matrices;
}

// The part of the graph that all pairs of tokens share: the edges between the first and the last layer.
LayeredGraph middle_of(const std::vector<nn::Matrix>& layer_matrices) {
  const std::int64_t n = layer_matrices.front().rows();
  LayeredGraph graph{.nodes = n, .layers = std::ssize(layer_matrices) - 1, .between = {}};
  for (std::int64_t l = graph.layers - 1; l > 0; --l) {
    const nn::Matrix& table = layer_matrices[static_cast<std::size_t>(l)];
    std::transform(table.data(), table.data() + n * n, std::back_inserter(graph.between), whole);
  }
  return graph;
}

// The flows from one source to all sinks.
class FlowsOf {
 public:
  FlowsOf(const std::vector<nn::Matrix>& layer_matrices, ThreadPool& pool)
      : first_(layer_matrices.front()),
        last_(layer_matrices.back()),
        graph_(middle_of(layer_matrices)),
        workers_(static_cast<std::size_t>(pool.threads())),
        pool_(pool) {}

  // Flows into the input tokens [first, first + flows.size()).
  void run(std::int64_t token, std::int64_t first, std::span<float> flows) {
    std::vector<Capacity> source(static_cast<std::size_t>(graph_.nodes));
    std::transform(last_.row(token), last_.row(token) + graph_.nodes, source.begin(), whole);
    pool_.run(std::ssize(flows), [&](std::int64_t task, int worker) {
      std::vector<Capacity> sink(source.size());
      for (std::int64_t i = 0; i < graph_.nodes; ++i)
        sink[static_cast<std::size_t>(i)] = whole(first_.row(i)[first + task]);
      const Capacity most = workers_[static_cast<std::size_t>(worker)].solve(graph_, source, sink);
      flows[static_cast<std::size_t>(task)] = static_cast<float>(std::ldexp(static_cast<double>(most), -kFractionBits));
    });
  }

 private:
  const nn::Matrix& first_;
  const nn::Matrix& last_;
  LayeredGraph graph_;
  std::vector<MaxFlow> workers_;
  ThreadPool& pool_;
};

}  // namespace

nn::Matrix flow(const AttentionTables& tables, const UpperTokens& upper, ThreadPool& pool,
                const base::Progress& progress) {
  check(tables, upper);
  const std::int64_t n = tables.stack(Kind::self).queries, count = std::ssize(upper.tokens);
  if (n > kMostFlowTokens) {
    throw std::invalid_argument("attention flow is limited to " + std::to_string(kMostFlowTokens) +
                                " tokens, but the text has " + std::to_string(n) + "; rollout has no limit");
  }
  const std::vector<nn::Matrix> layer_matrices = layer_tables(tables, upper.layer, pool);
  nn::Matrix flows(count, n);
  FlowsOf solver(layer_matrices, pool);
  const std::int64_t step = 4 * pool.threads();  // flows between two progress reports
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t token = upper.tokens[static_cast<std::size_t>(t)];
    if (upper.layer == 0) {  // one layer: a single edge to each input token
      std::copy_n(layer_matrices.front().row(token), n, flows.row(t));
      continue;
    }
    for (std::int64_t j = 0; j < n; j += step) {
      base::tell(progress, t * n + j, count * n);
      solver.run(token, j, {flows.row(t) + j, static_cast<std::size_t>(std::min(step, n - j))});
    }
  }
  return flows;
}

}  // namespace attn::insight
