// insight/paths/max_flow.h - maximum flow through a layered graph, every node of a layer joined to every node of the
// next.
//
// Dinic's algorithm (1970) on integers, so that nothing is rounded and no tolerance is needed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn::insight {

using Capacity = std::int64_t;  // a sum of N capacities must not overflow

// Layers of N nodes each, from the top down.
struct LayeredGraph {
  std::int64_t nodes = 0;         // N, per layer
  std::int64_t layers = 0;        // at least one
  std::vector<Capacity> between;  // [layers - 1, N, N]: from node i of a layer to node j of the next
};

// Reuses its buffers from one maximum flow to the next.
class MaxFlow {
 public:
  // The maximum flow from a source to a sink. `source` [N]: capacities from the source into the first layer; `sink`
  // [N]: capacities from the last layer into the sink.
  Capacity solve(const LayeredGraph& graph, std::span<const Capacity> source, std::span<const Capacity> sink);

 private:
  static constexpr std::int32_t kFar = -1;

  bool find_levels();
  Capacity push(std::int64_t layer, std::int64_t node, Capacity amount);
  [[nodiscard]] std::size_t at(std::int64_t layer, std::int64_t node) const;
  [[nodiscard]] std::size_t edge(std::int64_t layer, std::int64_t from, std::int64_t to) const;

  const LayeredGraph* graph_ = nullptr;
  std::vector<Capacity> source_, between_, sink_;  // residual capacities
  std::vector<std::int32_t> level_;                // [layers, N]: distance to the sink, in edges
  std::vector<std::int32_t> next_;  // [layers, N]: number of neighbours already tried, below first, then above
  std::int32_t source_level_ = kFar;
  std::vector<std::int64_t> queue_;
};

}  // namespace attn::insight
