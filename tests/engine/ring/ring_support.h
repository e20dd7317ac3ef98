// tests/engine/ring/ring_support.h - distributes a problem over several ranks and collects the results.
#pragma once

#include "attn/ring.h"
#include "tests/engine/backward/backward_support.h"
#include "tests/support/problem.h"

namespace attn::test {

// The collected results, on every rank.
struct RingRun {
  RingRun(const Problem& p) : results(p.sizes), gradients(p) {}  // NOLINT(google-explicit-constructor)

  Results results;
  GradientTensors gradients;
  RingReport forward, backward;  // of this rank
};

// Forward and backward: each rank computes its rows of the problem and sends the results to all others.
RingRun run_ring(const Problem& p, const Tensor& d_out, Ranks& ranks, int threads = 1);

// One rank's rows of a problem.
struct RingPart {
  RingPart(const Problem& p, const Ranks& ranks);

  [[nodiscard]] Inputs inputs() const { return {q.view(), k.view(), v.view()}; }

  RingSplit queries, keys;
  Tensor q, k, v;
  Tensor dense_bias;
  Options options;
};

}  // namespace attn::test
