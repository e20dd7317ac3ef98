// attn/linear.h - linear attention: O(N) time as well as O(N) memory.
//
//   out[i] = phi(q[i]) S_i / (phi(q[i]) z_i + epsilon)     S_i = sum_j phi(k[j])^T v[j]     z_i = sum_j phi(k[j])
//
// The sums run over all keys, or, causal, over j <= i. H query heads share G key heads, as in attention.h.
#pragma once

#include <cstdint>
#include <functional>

#include "attn/attention.h"
#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn {

enum class Feature : std::uint8_t {
  elu_plus_one,  // x > 0 ? x + 1 : exp(x)    (Katharopoulos et al., 2020)
  relu,          // max(x, 0)
  identity,      // q and k hold phi already
};

// A feature map of the caller's: reads one row x [D], writes phi(x) [F]. Called from several threads at once. What it
// throws, linear_attention throws; out and state are then in no particular condition.
struct FeatureMap {
  std::function<void(const float* x, float* phi)> map;
  std::int64_t width = 0;  // F
};

// What has been summed up so far; a text can be continued from it. Both are zero at the start.
struct LinearState {
  View<float, 4> s;  // [B, G, F, E]
  View<float, 3> z;  // [B, G, F]
};

struct LinearOptions {
  Feature feature = Feature::elu_plus_one;
  const FeatureMap* map = nullptr;  // instead of feature; not owned
  bool causal = false;
  float epsilon = 1e-6F;
  LinearState state;  // unless empty: read at the start, updated at the end
};

// Writes out [B, H, N, E]. Causal needs N = M.
//
//   - A row whose divisor is 0 becomes 0; so does everything if there is neither a key nor a state.
//   - Causal, a NaN in k or v changes no row before it.
//   - The result has the same bits whatever the number of threads.
//   - Throws std::invalid_argument before writing anything if the shapes disagree.
//   - out must not overlap the inputs or the state. Scratch is O(F E) a thread; with fewer than 8 key heads in the
//     batch (B G < 8) O(F E) more, at most 21 times.
void linear_attention(const Inputs& in, const LinearOptions& options, View<float, 4> out, ThreadPool& pool);

}  // namespace attn
