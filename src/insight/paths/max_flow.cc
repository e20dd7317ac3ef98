#include "insight/paths/max_flow.h"

#include <algorithm>
#include <numeric>

namespace attn::insight {

std::size_t MaxFlow::at(std::int64_t layer, std::int64_t node) const {
  return static_cast<std::size_t>(layer * graph_->nodes + node);
}

std::size_t MaxFlow::edge(std::int64_t layer, std::int64_t from, std::int64_t to) const {
  return static_cast<std::size_t>((layer * graph_->nodes + from) * graph_->nodes + to);
}

// Breadth-first search from the sink along residual edges: down an edge with capacity left, or up an edge whose flow
// can be taken back. Returns whether it reaches the source.
bool MaxFlow::find_levels() {
  const std::int64_t n = graph_->nodes, layers = graph_->layers;
  std::ranges::fill(level_, kFar);
  queue_.clear();
  const auto reach = [&](std::int64_t layer, std::int64_t node, std::int32_t level) {
    level_[at(layer, node)] = level;
    queue_.push_back(layer * n + node);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    if (sink_[static_cast<std::size_t>(i)] > 0) reach(layers - 1, i, 1);
  }
  source_level_ = kFar;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::int64_t layer = queue_[head] / n, node = queue_[head] % n;
    const std::int32_t level = level_[at(layer, node)];
    if (layer == 0 && source_level_ == kFar && source_[static_cast<std::size_t>(node)] > 0) source_level_ = level + 1;
    if (source_level_ != kFar && level + 1 >= source_level_) continue;
    for (std::int64_t i = 0; layer > 0 && i < n; ++i) {
      if (level_[at(layer - 1, i)] == kFar && between_[edge(layer - 1, i, node)] > 0) reach(layer - 1, i, level + 1);
    }
    for (std::int64_t j = 0; layer + 1 < layers && j < n; ++j) {
      const std::size_t down = edge(layer, node, j);
      if (level_[at(layer + 1, j)] == kFar && graph_->between[down] > between_[down]) reach(layer + 1, j, level + 1);
    }
  }
  return source_level_ != kFar;
}

// Sends up to `amount` from a node to the sink, one level nearer per step; returns what arrived. A node that could not
// send everything is not tried again in this phase.
Capacity MaxFlow::push(std::int64_t layer, std::int64_t node, Capacity amount) {
  const std::int64_t n = graph_->nodes;
  const std::size_t here = at(layer, node);
  const std::int32_t nearer = level_[here] - 1;
  if (nearer == 0) {
    const Capacity sent = std::min(amount, sink_[static_cast<std::size_t>(node)]);
    sink_[static_cast<std::size_t>(node)] -= sent;
    if (sent < amount) level_[here] = kFar;
    return sent;
  }
  Capacity sent = 0;
  for (std::int32_t& tried = next_[here]; tried < 2 * n; ++tried) {
    const bool down = tried < n;
    const std::int64_t other_layer = layer + (down ? 1 : -1), other = down ? tried : tried - n;
    if (other_layer < 0 || other_layer == graph_->layers) {
      tried += static_cast<std::int32_t>(n - 1);  // no neighbours on this side
      continue;
    }
    if (level_[at(other_layer, other)] != nearer) continue;
    const std::size_t way = down ? edge(layer, node, other) : edge(other_layer, other, node);
    const Capacity room = down ? between_[way] : graph_->between[way] - between_[way];
    if (room == 0) continue;
    const Capacity arrived = push(other_layer, other, std::min(amount - sent, room));
    between_[way] += down ? -arrived : arrived;
    sent += arrived;
    if (sent == amount) return sent;
  }
  level_[here] = kFar;
  return sent;
}

Capacity MaxFlow::solve(const LayeredGraph& graph, std::span<const Capacity> source, std::span<const Capacity> sink) {
  graph_ = &graph;
  source_.assign(source.begin(), source.end());
  between_ = graph.between;
  sink_.assign(sink.begin(), sink.end());
  level_.resize(static_cast<std::size_t>(graph.layers * graph.nodes));
  next_.resize(level_.size());
  const Capacity most = std::min(std::reduce(source_.begin(), source_.end()), std::reduce(sink_.begin(), sink_.end()));
  Capacity all = 0;
  while (all < most && find_levels()) {
    std::ranges::fill(next_, 0);
    for (std::int64_t i = 0; i < graph.nodes; ++i) {
      Capacity& room = source_[static_cast<std::size_t>(i)];
      if (room == 0 || level_[at(0, i)] != source_level_ - 1) continue;
      const Capacity sent = push(0, i, room);
      room -= sent;
      all += sent;
    }
  }
  return all;
}

}  // namespace attn::insight
