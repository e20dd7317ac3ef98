// attn/linear.h - linear attention: O(N) time and O(N) memory.
//
//   out[i] = phi(q[i]) S_i / (phi(q[i]) z_i + epsilon)     S_i = sum_j phi(k[j])^T v[j]     z_i = sum_j phi(k[j])
//
// The sums run over all keys or, if causal, over j <= i. F is the number of features, the length of phi(x). H query
// heads share G key heads, as in attention.h.
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
  identity,      // q and k already hold phi
};

// A feature map of the caller: reads one row x [D] and writes phi(x) [F]. It is called from several threads at once.
// linear_attention() rethrows what it throws; out and state are then unspecified.
struct FeatureMap {
  std::function<void(const float* x, float* phi)> map;
  std::int64_t width = 0;  // F
};

// The sums over the keys so far, from which a later call continues. The caller sets both to zero at the start.
struct LinearState {
  View<float, 4> s;  // [B, G, F, E]
  View<float, 3> z;  // [B, G, F]
};

struct LinearOptions {
  Feature feature = Feature::elu_plus_one;
  const FeatureMap* map = nullptr;  // if not null, used instead of feature; not owned
  bool causal = false;
  float epsilon = 1e-6F;
  LinearState state;  // if not empty: read at the start, updated at the end
};

// Computes linear attention by the formula above and writes out [B, H, N, E]. Causal attention needs N = M.
//
//   - A row whose divisor is 0 becomes 0; so does everything if there is neither a key nor a state.
//   - If causal, a NaN in k or v changes no row before it.
//   - The result has the same bits for any number of threads.
//   - Throws std::invalid_argument before writing anything if shapes disagree.
//   - out must not overlap the inputs or the state. Scratch is O(F E) per thread; with fewer than 8 key heads in the
//     batch (B G < 8) O(F E) more, at most 21 times.
void linear_attention(const Inputs& in, const LinearOptions& options, View<float, 4> out, ThreadPool& pool);

}  // namespace attn
