// attn_engine/attention.cc - the public calls.
#include "attn/attention.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "attn_engine/problem.h"

namespace attn {
namespace {

void compute(const Problem& problem, ThreadPool& pool) {
  const Sizes& n = problem.sizes;
  if (problem.sequences.empty() || n.heads == 0 || n.queries == 0) return;
  if (wants_split(problem)) {
    run_split(problem, pool);
  } else {
    run_forward(problem, pool);
  }
}

void check_outputs(const Sizes& n, const View<float, 4>& out, const View<float, 3>& lse) {
  check_shape("out", out.shape, {n.batch, n.heads, n.queries, n.value_width});
  check_present("out", out.data, out.shape);
  check_dense_last("out", out.strides[3], n.value_width);
  if (lse.empty()) return;
  check_shape("lse", lse.shape, {n.batch, n.heads, n.queries});
  check_dense_last("lse", lse.strides[2], n.queries);
}

// A mask as sequence `b` of `batch` sees it.
struct AtBatch {
  Mask mask;
  std::int64_t b = 0, batch = 1;

  std::uint64_t row(std::int64_t, std::int64_t h, std::int64_t i, std::int64_t j) const { return mask.row(b, h, i, j); }
  Cover cover(Tile tile) const {
    tile.b = b;
    return mask.cover(tile);
  }
  bool per_head() const { return mask.per_head(); }
  void check(Extent extent) const {
    extent.batch = batch;
    mask.check(extent);
  }
};

void check_offsets(const char* name, std::span<const std::int64_t> offsets, std::int64_t end) {
  const auto fail = [&](const std::string& what) {
    throw std::invalid_argument("attention: packing." + std::string(name) + " " + what);
  };
  if (offsets.empty()) fail("is empty but must have an offset a sequence and the end");
  if (offsets.front() != 0) fail("starts at " + std::to_string(offsets.front()) + " but must start at 0");
  if (offsets.back() != end)
    fail("ends at " + std::to_string(offsets.back()) + " but must end at " + std::to_string(end));
  const auto fall = std::adjacent_find(offsets.begin(), offsets.end(), std::greater<>());
  if (fall != offsets.end()) {
    fail("falls from " + std::to_string(*fall) + " to " + std::to_string(*(fall + 1)) + " but must rise");
  }
}

void check_packing(const Inputs& in, const Options& options, const Packing& packing, const Sizes& n) {
  check_offsets("queries", packing.queries, n.queries);
  check_offsets("keys", packing.keys, n.keys);
  const auto fail = [](const std::string& what) { throw std::invalid_argument("attention: packed: " + what); };
  if (packing.queries.size() != packing.keys.size()) {
    fail(std::to_string(packing.queries.size()) + " offsets of queries and " + std::to_string(packing.keys.size()) +
         " of keys, but there must be as many");
  }
  if (in.q.shape[0] != 1) fail("the batch is " + std::to_string(in.q.shape[0]) + " but must be 1");
  if (options.plan != nullptr) fail("a plan is not taken: each sequence has its own");
  if (!options.dense_bias.empty() || !options.mask.bias().empty()) {
    fail("a dense bias is not taken; a bias by distance is");
  }
}

// The plan of a sequence: that of the last one, if nothing but its place differs.
const TilePlan* plan_of(Problem& problem, const Sequence& s, std::int64_t batch) {
  if (!problem.plans.empty() && !problem.options->mask.per_batch()) {
    const Extent& last = problem.plans.back().extent();
    if (last.queries == s.queries && last.keys == s.keys) return &problem.plans.back();
  }
  return &problem.plans.emplace_back(AtBatch{problem.options->mask, s.number, batch},
                                     Extent{1, problem.sizes.heads, s.queries, s.keys});
}

}  // namespace

void attention(const Inputs& in, const Options& options, const Packing& packing, View<float, 4> out, View<float, 3> lse,
               ThreadPool& pool) {
  const Sizes n = check_inputs(in);
  check_outputs(n, out, lse);
  check_packing(in, options, packing, n);
  Sizes longest = n;  // of a sequence: what a bias by distance is made for
  longest.queries = longest.keys = 0;
  const auto count = static_cast<std::int64_t>(packing.queries.size()) - 1;
  for (std::size_t s = 0; s < static_cast<std::size_t>(count); ++s) {
    longest.queries = std::max(longest.queries, packing.queries[s + 1] - packing.queries[s]);
    longest.keys = std::max(longest.keys, packing.keys[s + 1] - packing.keys[s]);
  }
  check_options(options, longest);
  Problem problem = make_problem(in, options, n);
  problem.bias_centre = longest.queries - 1;
  problem.out = out;
  problem.lse = lse;
  for (std::int64_t b = 0; b < count; ++b) {
    const auto s = static_cast<std::size_t>(b);
    Sequence sequence{0,
                      b,
                      packing.queries[s],
                      packing.keys[s],
                      packing.queries[s + 1] - packing.queries[s],
                      packing.keys[s + 1] - packing.keys[s],
                      nullptr,
                      0};
    if (sequence.queries == 0) continue;
    sequence.plan = plan_of(problem, sequence, count);
    problem.sequences.push_back(sequence);
  }
  compute(problem, pool);
}

void attention(const Inputs& in, const Options& options, View<float, 4> out, View<float, 3> lse, ThreadPool& pool) {
  attention(in, options, out, lse, View<float, 4>{}, pool);
}

void attention(const Inputs& in, const Options& options, View<float, 4> out, View<float, 3> lse, View<float, 4> weights,
               ThreadPool& pool) {
  const Sizes n = check_inputs(in);
  check_outputs(n, out, lse);
  check_options(options, n);
  if (!weights.empty()) {
    check_shape("weights", weights.shape, {n.batch, n.heads, n.queries, n.keys});
    check_dense_last("weights", weights.strides[3], n.keys);
  }
  Problem problem = make_problem(in, options, n);
  problem.out = out;
  problem.lse = lse;
  problem.weights = weights;
  const TilePlan* plan = options.plan;
  if (plan == nullptr) plan = &problem.plans.emplace_back(options.mask, Extent{n.batch, n.heads, n.queries, n.keys});
  add_batch(problem, plan);
  compute(problem, pool);
}

}  // namespace attn
