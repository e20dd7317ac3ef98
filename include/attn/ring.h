// attn/ring.h - attention over a sequence that is split over several processes: ring attention (Liu, Zaharia, Abbeel,
// 2023), merged through lse.
//
// Every rank holds a part of the queries and a part of the keys and values. Keys and values travel from rank to rank,
// and communication overlaps computation. Keys that the mask hides from a rank are not sent to it.
#pragma once

#include <array>
#include <cstdint>

#include "attn/attention.h"
#include "attn/backward.h"
#include "attn/ranks.h"

namespace attn {

// Tokens [begin, end) of a sequence.
struct Stretch {
  std::int64_t begin = 0, end = 0;

  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

// Which tokens of a sequence each rank holds: one early stretch and one late one, so that a causal mask gives every
// rank the same work. Rank 0 has the first and the last tokens. The ranks' shares differ by at most one token.
class RingSplit {
 public:
  // Throws std::invalid_argument if there are more ranks than tokens.
  RingSplit(std::int64_t length, int ranks);

  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  // The early and the late stretch of a rank; the late one may be empty.
  [[nodiscard]] std::array<Stretch, 2> of(int rank) const noexcept;
  [[nodiscard]] std::int64_t size(int rank) const noexcept;

 private:
  std::int64_t length_ = 0;
  int ranks_ = 1;
};

// The whole problem: N queries and M keys, each split over the ranks by RingSplit. A rank's rows of q, k, v, out, lse
// and their gradients are its early stretch directly followed by its late one.
struct Ring {
  Ranks& ranks;
  std::int64_t queries = 0, keys = 0;  // N, M
};

// What the call cost this rank.
struct RingReport {
  double seconds = 0;        // wall time of the call
  double waiting = 0;        // of these, seconds spent waiting for messages
  std::int64_t bytes = 0;    // bytes sent
  std::int64_t sent = 0;     // messages of keys sent: stretches, or pieces of long ones
  std::int64_t skipped = 0;  // further messages that would have been sent without a mask
};

// Computes attention() of the whole problem; collective. in, out and lse hold this rank's rows. mask, bias, sink and
// dropout are those of the whole, the same on every rank, in positions of the whole. dense_bias has this rank's n
// queries and all M keys: [1|B, 1|H, 1|n, M]. options.plan must be null.
//
//   - The result equals that of one process except for the order of additions. Its bits depend on the number of ranks,
//     not on the number of threads.
//   - Throws std::invalid_argument on all ranks, before anything is written or keys are sent, if the shapes of one rank
//     do not fit the whole or those of rank 0, or if there are more ranks than queries or keys.
//   - Keys and values travel in pieces: a 16th of what a rank holds, or up to 4,095 keys if that is more. Allocates
//     three times that, out and lse of 2,048 queries, and lse once more; nothing of size N or M.
RingReport ring_attention(const Inputs& in, const Options& options, const Ring& ring, View<float, 4> out,
                          View<float, 3> lse, ThreadPool& pool);

// Computes attention_backward() of the whole problem; collective. outputs and the gradients dq, dk and dv hold this
// rank's rows; d_dense_bias has the shape of dense_bias. d_bias and d_sink, and d_dense_bias if its query axis is 1,
// are those of the whole, the same bits on every rank. Gradients of keys travel one step behind the keys. Throws as
// ring_attention() does.
RingReport ring_attention_backward(const Inputs& in, const Options& options, const Ring& ring, const Outputs& outputs,
                                   const Gradients& to, ThreadPool& pool);

}  // namespace attn
