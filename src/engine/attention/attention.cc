// engine/attention/attention.cc - the public functions: check, build the problem, choose a schedule.
#include "attn/attention.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/attention/problem.h"

namespace attn {
namespace {

void compute_attention(const Problem& problem, ThreadPool& pool) {
  const Sizes& n = problem.sizes;
  if (problem.sequences.empty() || n.heads == 0 || n.queries == 0) return;
  if (wants_split(problem)) {
    run_split(problem, pool);
  } else {
    run_forward(problem, pool);
  }
}

}  // namespace

void attention(const Inputs& in, const Options& options, const Packing& packing, View<float, 4> out, View<float, 3> lse,
               ThreadPool& pool) {
  const Sizes n = check_inputs(in);
  check_outputs(n, out, lse);
  Problem problem = packed_problem(in, options, packing, n);
  problem.out = out;
  problem.lse = lse;
  compute_attention(problem, pool);
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
  Problem problem = batch_problem(in, options, n);
  problem.out = out;
  problem.lse = lse;
  problem.weights = weights;
  compute_attention(problem, pool);
}

}  // namespace attn
