// attn/ring.h - attention over a sequence that is split over several processes: ring attention (Liu, Zaharia, Abbeel,
// 2023), merged through lse.
//
// Every rank holds some queries, and as many keys and values. These travel from rank to rank while the ones at hand are
// computed with. What a mask rules out is not sent.
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

// Which tokens of a sequence each rank holds: an early stretch and a late one, so that under a causal mask all have the
// same work. Rank 0 has the first tokens and the last ones. Their numbers differ by one at most.
class RingSplit {
 public:
  // Throws std::invalid_argument if there are more ranks than tokens.
  RingSplit(std::int64_t length, int ranks);

  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  // The second one may be empty.
  [[nodiscard]] std::array<Stretch, 2> of(int rank) const noexcept;
  [[nodiscard]] std::int64_t size(int rank) const noexcept;

 private:
  std::int64_t length_ = 0;
  int ranks_ = 1;
};

// The whole of which each rank has a part: N queries and M keys, each split as RingSplit says. A rank's rows of q, k,
// v, out, lse and their gradients are its early stretch and, right behind it, its late one.
struct Ring {
  Ranks& ranks;
  std::int64_t queries = 0, keys = 0;  // N, M
};

// What it took this rank.
struct RingReport {
  double seconds = 0;        // in all
  double waiting = 0;        // of these, for parcels that were not there yet
  std::int64_t bytes = 0;    // that it sent
  std::int64_t sent = 0;     // parcels of keys that it sent: stretches, or pieces of long ones
  std::int64_t skipped = 0;  // and those that it would have sent without a mask
};

// attention() of the whole; all ranks must call it. in, out and lse are this rank's rows. mask, bias, sink and dropout
// are those of the whole, the same on every rank, and speak of places in it; dense_bias has this rank's queries and all
// M keys: [1|B, 1|H, 1|n, M]. A plan is not taken.
//
//   - The result is that of one process but for the order of additions; it depends on R and not on threads.
//   - Throws std::invalid_argument, on all ranks, before anything is written or sent: if the shapes of one rank do not
//     fit the whole or those of rank 0, if there are more ranks than queries or keys.
//   - Of keys and values only pieces travel: a 16th of what a rank has, or up to 4,095 keys if that is more. Allocates
//     three times that, out and lse of 2,048 queries, and lse once more; nothing of size N or M.
RingReport ring_attention(const Inputs& in, const Options& options, const Ring& ring, View<float, 4> out,
                          View<float, 3> lse, ThreadPool& pool);

// attention_backward() of the whole; all ranks must call it. outputs and the gradients dq, dk and dv are this rank's
// rows; d_dense_bias is as dense_bias. d_bias and d_sink, and d_dense_bias where its queries are one, are those of the
// whole, the same bits on every rank. Gradients of keys travel behind the keys. Throws as ring_attention().
RingReport ring_attention_backward(const Inputs& in, const Options& options, const Ring& ring, const Outputs& outputs,
                                   const Gradients& to, ThreadPool& pool);

}  // namespace attn
