// insight/paths/max_flow.h - maximum flow through a graph of layers, every node of a layer joined to every one of the
// next.
//
// Dinic's algorithm (1970) on whole numbers, so that nothing is rounded and no tolerance is needed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn::insight {

using Capacity = std::int64_t;  // sums of N of them must not overflow

// Layers of N nodes each, from the top down.
struct LayeredGraph {
  std::int64_t nodes = 0;         // N of a layer
  std::int64_t layers = 0;        // at least one
  std::vector<Capacity> between;  // [layers - 1, N, N]: from node i of a layer to node j of the next
};

// Holds what one maximum flow needs, for one after another.
class MaxFlow {
 public:
  // From a source that leads into the first layer, [N], to a sink that the last one leads into, [N].
  Capacity solve(const LayeredGraph& graph, std::span<const Capacity> source, std::span<const Capacity> sink);

 private:
  static constexpr std::int32_t kFar = -1;

  bool find_levels();
  Capacity push(std::int64_t layer, std::int64_t node, Capacity amount);
  [[nodiscard]] std::size_t at(std::int64_t layer, std::int64_t node) const;
  [[nodiscard]] std::size_t edge(std::int64_t layer, std::int64_t from, std::int64_t to) const;

  const LayeredGraph* graph_ = nullptr;
  std::vector<Capacity> source_, between_, sink_;  // what is left of the capacities
  std::vector<std::int32_t> level_;                // [layers, N]: edges to the sink
  std::vector<std::int32_t> next_;                 // [layers, N]: neighbours below, then above, already tried
  std::int32_t source_level_ = kFar;
  std::vector<std::int64_t> queue_;
};

}  // namespace attn::insight
