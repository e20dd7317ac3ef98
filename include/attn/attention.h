// attn/attention.h - exact softmax attention, fused: no N x M array is ever stored.
//
//   out[b,h,i] = sum_j p[i,j] v[b,g,j]      p[i,:] = softmax of score[i,:] over the keys the mask allows
//   score[i,j] = cap(scale <q[b,h,i], k[b,g,j]>) + bias[h, j - i] + dense_bias[b,h,i,j]      g = h / (H / G)
//   cap(x)     = softcap tanh(x / softcap), or x
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "attn/mask.h"
#include "attn/thread_pool.h"
#include "attn/tile_plan.h"
#include "attn/view.h"

namespace attn {

inline constexpr std::int64_t kMaxWidth = 512;  // of D and of E

// H query heads share G key heads: G = H is multi-head attention, G = 1 multi-query.
struct Inputs {
  AnyView<4> q;  // [B, H, N, D]   float, Half or Bfloat
  AnyView<4> k;  // [B, G, M, D]
  AnyView<4> v;  // [B, G, M, E]
};

// Each weight is kept with probability 1 - rate and then divided by it. Which ones depends on seed, b, h, i and j
// alone. lse and the weights that are shown are those before dropout.
struct Dropout {
  float rate = 0;  // [0, 1)
  std::uint64_t seed = 0;
  // Of a part of something larger: where its first sequence, query and key stand there. b, i and j count from these.
  std::int64_t first_sequence = 0, first_query = 0, first_key = 0;
};

// A closed set of data: what a kernel does with it is known when it is compiled.
struct Options {
  Mask mask;                        // everything, unless said otherwise
  const TilePlan* plan = nullptr;   // of this very mask and shape, if it was made before; not owned
  std::optional<float> scale;       // default 1 / sqrt(D)
  float softcap = 0;                // 0: none
  View<const float, 2> bias;        // by distance: [1|H, N+M-1] at j - i + N - 1; empty: none (bias.h makes them)
  View<const float, 4> dense_bias;  // [1|B, 1|H, 1|N, M]; empty: none
  View<const float, 1> sink;        // [H]: a logit that takes part in the softmax and has no value; empty: none
  Dropout dropout;
};

// Writes out [B, H, N, E] and, unless empty, lse [B, H, N]: log sum_j exp(score[i,j]), all that weights() and
// attention_backward need to rebuild any p[i,j].
//
//   - A query that may see no key, or only scores of -inf, gets out = 0, never NaN; its lse is -inf, or with a sink the
//     sink's logit.
//   - A NaN in an allowed place makes that row NaN and no other; in a forbidden place it changes nothing.
//   - The result has the same bits whatever the number of threads.
//   - Throws std::invalid_argument before writing anything if the shapes disagree.
//   - out must not overlap the inputs. Allocates the tile plan and O(threads + M D) scratch, nothing of size N x M.
void attention(const Inputs& in, const Options& options, View<float, 4> out, View<float, 3> lse, ThreadPool& pool);

// The same, and writes the whole table: weights [B, H, N, M], before dropout, 0 where the mask forbids.
void attention(const Inputs& in, const Options& options, View<float, 4> out, View<float, 3> lse, View<float, 4> weights,
               ThreadPool& pool);

// A window on the table of weights: queries [row, row + R) against keys [col, col + C).
struct Rectangle {
  std::int64_t row = 0;
  std::int64_t col = 0;
};

// Rebuilds p[i,j] = exp(score[i,j] - lse[i]) for a window of the table, as large as weights [B, H, R, C] is. in.v is
// not looked at; dropout plays no part. The options must be those of the call that wrote lse.
void weights(const Inputs& in, const Options& options, View<const float, 3> lse, Rectangle window,
             View<float, 4> weights, ThreadPool& pool);

// Sequences of different lengths lie one behind the other along N and M (B = 1); nothing is padded and nobody sees
// into another sequence. Sequence s has the queries [queries[s], queries[s+1]) and the keys [keys[s], keys[s+1]).
// mask, bias and dropout see it as batch s with positions from 0. bias [1|H, W] is the table of a problem of
// `queries` and `keys` as long as the longest: W = max N_s + max M_s - 1, at j - i + max N_s - 1. A plan or dense bias
// is not taken. Throws std::invalid_argument if the offsets do not rise from 0 to N and M.
struct Packing {
  std::span<const std::int64_t> queries;  // S + 1 offsets
  std::span<const std::int64_t> keys;     // S + 1 offsets
};
void attention(const Inputs& in, const Options& options, const Packing& packing, View<float, 4> out, View<float, 3> lse,
               ThreadPool& pool);

// Whether dropout keeps this weight: what attention() itself asks.
bool dropout_keeps(const Dropout& dropout, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) noexcept;

}  // namespace attn
