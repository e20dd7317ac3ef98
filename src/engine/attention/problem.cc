// engine/attention/problem.cc - finds the arrays of a sequence and head, and converts options to the kernels' units.
#include "engine/attention/problem.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "engine/kernels/attention/dropout.h"

namespace attn {
namespace {

static_assert(static_cast<int>(Type::float32) == static_cast<int>(kernels::Element::float32));
static_assert(static_cast<int>(Type::float16) == static_cast<int>(kernels::Element::float16));
static_assert(static_cast<int>(Type::bfloat16) == static_cast<int>(kernels::Element::bfloat16));
static_assert(kMaxWidth == kernels::kMaxWidth);

kernels::DenseBias dense_of(const View<const float, 4>& view, std::int64_t b, std::int64_t h) {
  if (view.empty()) return {};
  return {view.at(view.shape[0] == 1 ? 0 : b, view.shape[1] == 1 ? 0 : h),
          view.shape[2] == 1 ? std::int64_t{0} : view.strides[2]};
}

// The mask of sequence `b` of `batch`, as a mask with one sequence.
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
  if (offsets.empty()) fail("is empty but must have one offset per sequence and the end");
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
         " of keys, but their numbers must be equal");
  }
  if (in.q.shape[0] != 1) fail("the batch is " + std::to_string(in.q.shape[0]) + " but must be 1");
  if (options.plan != nullptr) fail("a plan is not supported: each sequence has its own");
  if (!options.dense_bias.empty() || !options.mask.bias().empty()) {
    fail("a dense bias is not supported; use a bias by distance");
  }
}

// The plan of a sequence: reuses the previous one if the mask and the lengths are the same.
const TilePlan* plan_of(Problem& problem, const Sequence& s, std::int64_t batch) {
  if (!problem.plans.empty() && !problem.options->mask.per_batch()) {
    const Extent& last = problem.plans.back().extent();
    if (last.queries == s.queries && last.keys == s.keys) return &problem.plans.back();
  }
  return &problem.plans.emplace_back(AtBatch{problem.options->mask, s.number, batch},
                                     Extent{1, problem.sizes.heads, s.queries, s.keys});
}

}  // namespace

kernels::Rows Problem::q(const Sequence& s, std::int64_t h) const noexcept {
  return rows_of(in.q, s.batch, h, s.first_query);
}
kernels::Rows Problem::k(const Sequence& s, std::int64_t g) const noexcept {
  return rows_of(in.k, s.batch, g, s.first_key);
}
kernels::Rows Problem::v(const Sequence& s, std::int64_t g) const noexcept {
  return rows_of(in.v, s.batch, g, s.first_key);
}

kernels::Scoring Problem::scoring(const Sequence& s, std::int64_t h) const noexcept {
  kernels::Scoring how;
  how.q_scale = options->softcap > 0 ? scale / options->softcap : scale * kernels::kLog2E;
  how.softcap = options->softcap * kernels::kLog2E;
  if (!options->bias.empty()) how.bias = options->bias.at(options->bias.shape[0] == 1 ? 0 : h) + bias_centre;
  how.dense[0] = dense_of(options->dense_bias, s.number, h);
  how.dense[1] = dense_of(mask_bias, s.number, h);
  return how;
}

kernels::DropoutHash Problem::dropout(const Sequence& s, std::int64_t h) const noexcept {
  return dropout_of(options->dropout, s.number, h);
}

float Problem::sink(std::int64_t h) const noexcept {
  return options->sink.empty() ? kernels::kNever : options->sink(h) * kernels::kLog2E;
}

float* Problem::out_row(const Sequence& s, std::int64_t h) const noexcept { return out.at(s.batch, h, s.first_query); }
float* Problem::lse_row(const Sequence& s, std::int64_t h) const noexcept {
  return lse.empty() ? nullptr : lse.at(s.batch, h, s.first_query);
}

kernels::DropoutHash dropout_of(const Dropout& dropout, std::int64_t b, std::int64_t h) noexcept {
  if (dropout.rate == 0) return {};
  const auto number = static_cast<std::uint64_t>(dropout.first_sequence + b);
  const std::uint64_t batch = kernels::mix64(dropout.seed ^ kernels::mix64(number));
  kernels::DropoutHash hash =
      kernels::dropout_with(dropout.rate, kernels::mix64(batch + static_cast<std::uint64_t>(h)));
  hash.first_row = dropout.first_query;
  hash.first_key = dropout.first_key;
  return hash;
}

bool dropout_keeps(const Dropout& dropout, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) noexcept {
  const kernels::DropoutHash hash = dropout_of(dropout, b, h);
  return kernels::dropout_hash(kernels::dropout_row_key(hash.seed, hash.first_row + i), hash.first_key + j) >=
         hash.threshold;
}

Problem make_problem(const Inputs& in, const Options& options, const Sizes& sizes) {
  Problem problem;
  problem.in = in;
  problem.options = &options;
  problem.sizes = sizes;
  problem.scale = options.scale ? *options.scale : 1 / std::sqrt(static_cast<float>(sizes.width));
  problem.bias_centre = sizes.queries - 1;
  problem.mask_bias = options.mask.bias();
  return problem;
}

void add_batch(Problem& problem, const TilePlan* plan) {
  const Sizes& n = problem.sizes;
  for (std::int64_t b = 0; b < n.batch; ++b) problem.sequences.push_back({b, b, 0, 0, n.queries, n.keys, plan, b});
}

Problem batch_problem(const Inputs& in, const Options& options, const Sizes& n) {
  Problem problem = make_problem(in, options, n);
  const TilePlan* plan = options.plan;
  if (plan == nullptr) plan = &problem.plans.emplace_back(options.mask, Extent{n.batch, n.heads, n.queries, n.keys});
  add_batch(problem, plan);
  return problem;
}

Problem packed_problem(const Inputs& in, const Options& options, const Packing& packing, const Sizes& n) {
  check_packing(in, options, packing, n);
  Sizes longest = n;  // the longest sequence: a bias by distance has its size
  longest.queries = longest.keys = 0;
  const auto count = static_cast<std::int64_t>(packing.queries.size()) - 1;
  for (std::size_t s = 0; s < static_cast<std::size_t>(count); ++s) {
    longest.queries = std::max(longest.queries, packing.queries[s + 1] - packing.queries[s]);
    longest.keys = std::max(longest.keys, packing.keys[s + 1] - packing.keys[s]);
  }
  check_options(options, longest);
  Problem problem = make_problem(in, options, n);
  problem.bias_centre = longest.queries - 1;
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
  return problem;
}

void write_zeros(const View<float, 4>& to) {
  for (std::int64_t b = 0; b < to.shape[0]; ++b)
    for (std::int64_t h = 0; h < to.shape[1]; ++h)
      for (std::int64_t i = 0; i < to.shape[2]; ++i) std::fill_n(to.at(b, h, i), to.shape[3], 0.0F);
}

}  // namespace attn
