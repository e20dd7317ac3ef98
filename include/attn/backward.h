// attn/backward.h - gradients of attention(), fused like it: no N x M array is ever stored; and of linear_attention().
//
//   p[i,j]   = exp(score[i,j] - lse[i])                   rebuilt tile by tile
//   delta[i] = <d_out[i], out[i]> - d_lse[i]
//   ds[i,j]  = p[i,j] (<d_out[i], v[j]> - delta[i])       the gradient of score[i,j]
//   dv[j] = sum_i p[i,j] d_out[i]      dq[i] = scale sum_j ds[i,j] k[j]      dk[j] = scale sum_i ds[i,j] q[i]
//
// With a softcap, ds shrinks by 1 - tanh^2 on its way to q and k; with dropout, weights and <d_out[i], v[j]> are kept,
// scaled or zero as the weights of the forward pass were.
#pragma once

#include "attn/attention.h"
#include "attn/linear.h"
#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn {

// What attention() wrote, and the gradient of some number with respect to it.
struct Outputs {
  View<const float, 4> out;         // [B, H, N, E]
  View<const float, 3> lse;         // [B, H, N]
  View<const float, 4> d_out;       // [B, H, N, E]
  View<const float, 3> d_lse = {};  // [B, H, N]; empty: the number does not depend on lse but through out
};

// Where the gradients go; what was there before is lost.
struct Gradients {
  View<float, 4> dq;      // [B, H, N, D]
  View<float, 4> dk;      // [B, G, M, D]: the sum over the query heads that share it
  View<float, 4> dv;      // [B, G, M, E]
  View<float, 2> d_bias;  // as Options::bias, summed over B and, if its H is 1, over the heads; empty: not wanted
  View<float, 1> d_sink;  // [H], as Options::sink; empty: not wanted
  // As Options::dense_bias, summed over what it is shared by; 0 where the mask forbids; empty: not wanted.
  View<float, 4> d_dense_bias = {};
};

// Writes the gradients. in and options must be those of the call of attention() that wrote out and lse.
//
//   - A query that sees nothing has a gradient of 0 and adds nothing to others, never NaN.
//   - What is masked adds exactly nothing, even if K or V hold NaN there. A NaN in d_out makes NaN of what its query
//     sees and of nothing else.
//   - The result has the same bits whatever the number of threads.
//   - Throws std::invalid_argument before writing anything if the shapes disagree, or if a gradient is wanted of a bias
//     or sink that is not there.
//   - Gradients must overlap neither each other nor anything else. Allocates the tile plan, O(threads (N + M)) scratch
//     and, if there are fewer than 16 key heads in the batch (B G < 16), up to 16 times dq of one group of heads;
//     nothing of size N x M.
void attention_backward(const Inputs& in, const Options& options, const Outputs& outputs, const Gradients& to,
                        ThreadPool& pool);

// The same for packed sequences. d_bias is as wide as the bias of the longest one.
void attention_backward(const Inputs& in, const Options& options, const Packing& packing, const Outputs& outputs,
                        const Gradients& to, ThreadPool& pool);

// Gradients of linear_attention(): dq, dk and dv. outputs.lse and d_lse are not looked at.
//
//   - A row whose divisor is 0 has a gradient of 0.
//   - The result has the same bits whatever the number of threads.
//   - Throws std::invalid_argument before writing anything if the shapes disagree, and for what has no gradient here: a
//     feature map of the caller's, a state.
//   - O(N) time. Scratch is O(N + F E) a thread. Every key head of the batch is one task.
void linear_backward(const Inputs& in, const LinearOptions& options, const Outputs& outputs, const Gradients& to,
                     ThreadPool& pool);

}  // namespace attn
