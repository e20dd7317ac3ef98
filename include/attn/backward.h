// attn/backward.h - gradients of attention(), fused like it: no N x M array is ever stored; and of linear_attention().
//
//   p[i,j]   = exp(score[i,j] - lse[i])                   rebuilt tile by tile
//   delta[i] = <d_out[i], out[i]> - d_lse[i]
//   ds[i,j]  = p[i,j] (<d_out[i], v[j]> - delta[i])       the gradient of score[i,j]
//   dv[j] = sum_i p[i,j] d_out[i]      dq[i] = scale sum_j ds[i,j] k[j]      dk[j] = scale sum_i ds[i,j] q[i]
//
// With a softcap, ds is multiplied by 1 - tanh^2 before it reaches q and k. With dropout, the weights and
// <d_out[i], v[j]> are dropped and scaled exactly as the weights of the forward pass were.
#pragma once

#include "attn/attention.h"
#include "attn/linear.h"
#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn {

// What attention() wrote, and the gradient of the loss with respect to it.
struct Outputs {
  View<const float, 4> out;         // [B, H, N, E]
  View<const float, 3> lse;         // [B, H, N]
  View<const float, 4> d_out;       // [B, H, N, E]
  View<const float, 3> d_lse = {};  // [B, H, N]; empty: the loss depends on lse only through out
};

// Where the gradients go. They are overwritten, not added to.
struct Gradients {
  View<float, 4> dq;      // [B, H, N, D]
  View<float, 4> dk;      // [B, G, M, D]: the sum over the query heads that share it
  View<float, 4> dv;      // [B, G, M, E]
  View<float, 2> d_bias;  // as Options::bias, summed over B and, if its H is 1, over the heads; empty: not wanted
  View<float, 1> d_sink;  // [H], as Options::sink; empty: not wanted
  // As Options::dense_bias, summed over its axes of size 1; 0 where the mask forbids; empty: not wanted.
  View<float, 4> d_dense_bias = {};
};

// Computes the gradients of attention() by the formulas above and writes them to `to`. in and options must be those of
// the call that wrote outputs.out and outputs.lse.
//
//   - A query that sees no key has a gradient of 0 and adds nothing to others, never NaN.
//   - Masked pairs contribute exactly 0, even if K or V hold NaN there. A NaN in d_out reaches the gradients of what
//     its query sees and nothing else.
//   - The result has the same bits for any number of threads.
//   - Throws std::invalid_argument before writing anything if shapes disagree, or if it is asked for the gradient of a
//     bias or sink that the options do not have.
//   - Gradients must overlap neither each other nor anything else. Allocates the tile plan, O(threads (N + M)) scratch
//     and, if there are fewer than 16 key heads in the batch (B G < 16), up to 16 times dq of one group of heads;
//     nothing of size N x M.
void attention_backward(const Inputs& in, const Options& options, const Outputs& outputs, const Gradients& to,
                        ThreadPool& pool);

// Computes the same for packed sequences (see Packing). d_bias has the shape of the packed bias [1|H, W]. Throws as
// above and for what attention() refuses of a packing.
void attention_backward(const Inputs& in, const Options& options, const Packing& packing, const Outputs& outputs,
                        const Gradients& to, ThreadPool& pool);

// Computes the gradients dq, dk and dv of linear_attention(). Does not read outputs.lse and outputs.d_lse.
//
//   - A row whose divisor is 0 has a gradient of 0.
//   - The result has the same bits for any number of threads.
//   - Throws std::invalid_argument before writing anything if shapes disagree, and for options that have no gradient
//     here: a feature map of the caller and a state.
//   - Takes O(N) time and O(N + F E) scratch per thread. Every key head of the batch is one task.
void linear_backward(const Inputs& in, const LinearOptions& options, const Outputs& outputs, const Gradients& to,
                     ThreadPool& pool);

}  // namespace attn
