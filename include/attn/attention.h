// attn/attention.h - exact softmax attention, fused: no N x M array is ever stored.
//
// B batch, H query heads, G key heads, N queries, M keys, D query and key width, E value width.
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

inline constexpr std::int64_t kMaxWidth = 512;  // the largest D and the largest E

// H query heads share G key heads: G = H is multi-head attention, G = 1 multi-query.
struct Inputs {
  AnyView<4> q;  // [B, H, N, D]   float, Half or Bfloat
  AnyView<4> k;  // [B, G, M, D]
  AnyView<4> v;  // [B, G, M, E]
};

// Keeps each weight with probability 1 - rate, divides it by 1 - rate, and sets the others to 0. The choice depends on
// seed, b, h, i and j alone. lse and the weights that the engine writes are those before dropout.
struct Dropout {
  float rate = 0;  // [0, 1)
  std::uint64_t seed = 0;
  // For a part of a larger problem: the position of its first sequence, query and key in the whole. b, i and j count
  // from these.
  std::int64_t first_sequence = 0, first_query = 0, first_key = 0;
};

// Plain data, no callbacks: the compiler sees everything that a kernel does with it.
struct Options {
  Mask mask;                        // default: every query sees every key
  const TilePlan* plan = nullptr;   // the plan of exactly this mask and shape, to reuse it; not owned
  std::optional<float> scale;       // default 1 / sqrt(D)
  float softcap = 0;                // 0: none
  View<const float, 2> bias;        // by distance: [1|H, N+M-1] at j - i + N - 1; empty: none (see bias.h)
  View<const float, 4> dense_bias;  // [1|B, 1|H, 1|N, M]; empty: none
  View<const float, 1> sink;        // [H]: a logit that takes part in the softmax and has no value; empty: none
  Dropout dropout;
};

// Computes attention by the formula above. Writes out [B, H, N, E] and, unless lse is empty, lse [B, H, N]:
// log sum_j exp(score[i,j]). With q and k it is all that weights() and attention_backward() need to rebuild any p[i,j].
//
//   - A query that sees no key, or only scores of -inf, gets out = 0, never NaN. Its lse is -inf, or the sink's logit
//     if there is a sink.
//   - A NaN at an allowed pair makes that row NaN and no other; at a forbidden pair it changes nothing.
//   - The result has the same bits for any number of threads.
//   - Throws std::invalid_argument before writing anything if shapes disagree or an option does not fit them.
//   - out must not overlap the inputs. Allocates the tile plan and O(threads + M D) scratch, nothing of size N x M.
void attention(const Inputs& in, const Options& options, View<float, 4> out, View<float, 3> lse, ThreadPool& pool);

// Computes the same and also writes the whole table: weights [B, H, N, M], before dropout, 0 where the mask forbids.
// Throws as above.
void attention(const Inputs& in, const Options& options, View<float, 4> out, View<float, 3> lse, View<float, 4> weights,
               ThreadPool& pool);

// The top left corner of a window of the table of weights: queries [row, row + R) against keys [col, col + C). R and C
// are the last two sizes of the array that receives it.
struct Rectangle {
  std::int64_t row = 0;
  std::int64_t col = 0;
};

// Rebuilds p[i,j] = exp(score[i,j] - lse[i]) for one window of the table and writes it to weights [B, H, R, C]. Does
// not read in.v and ignores dropout. The options must be those of the call that wrote lse [B, H, N]. Throws
// std::invalid_argument before writing anything if shapes disagree or the window does not lie inside the table.
void weights(const Inputs& in, const Options& options, View<const float, 3> lse, Rectangle window,
             View<float, 4> weights, ThreadPool& pool);

// Sequences of different lengths, concatenated along N and M (B = 1) without padding. Sequence s has the queries
// [queries[s], queries[s+1]) and the keys [keys[s], keys[s+1]).
struct Packing {
  std::span<const std::int64_t> queries;  // S + 1 offsets
  std::span<const std::int64_t> keys;     // S + 1 offsets
};

// Computes attention for packed sequences: no query sees a key of another sequence. mask, bias and dropout treat
// sequence s as batch s with positions from 0. bias [1|H, W] is the table for the longest sequence:
// W = max N_s + max M_s - 1, with j - i at index j - i + max N_s - 1. out and lse are as in attention().
//
//   - Throws std::invalid_argument before writing anything as attention() does, and also if B is not 1, if the offsets
//     do not rise from 0 to N and M, or if there is a plan, a dense bias or a mask with a bias.
void attention(const Inputs& in, const Options& options, const Packing& packing, View<float, 4> out, View<float, 3> lse,
               ThreadPool& pool);

// Whether attention() keeps the weight of query i and key j in head h of batch b.
bool dropout_keeps(const Dropout& dropout, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) noexcept;

}  // namespace attn
