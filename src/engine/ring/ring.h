// engine/ring/ring.h - shared by ring attention and its gradients: which rank needs which keys, and how keys travel.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/ring.h"
#include "engine/attention/problem.h"

namespace attn {

// Each rank's tokens are two stretches: half 0 is the early one.
inline constexpr int kHalves = 2;

// Keys go round the ring in several laps, one piece of each stretch per lap, so that the buffers are small compared
// with what a rank holds. The plan knows these pieces and which ranks' queries see any key of each.
class RingPlan {
 public:
  RingPlan(const Mask& mask, const Extent& whole, int ranks);

  [[nodiscard]] int ranks() const noexcept { return queries_.ranks(); }
  [[nodiscard]] const RingSplit& queries() const noexcept { return queries_; }
  [[nodiscard]] const RingSplit& keys() const noexcept { return keys_; }
  [[nodiscard]] int laps() const noexcept { return laps_; }
  // The piece of the owner's stretch that travels on this lap.
  [[nodiscard]] Stretch piece(int lap, int owner, int half) const noexcept;
  // The index of its first row among the owner's rows.
  [[nodiscard]] std::int64_t row(int lap, int owner, int half) const noexcept;
  // Whether the rank's queries see any key of that piece.
  [[nodiscard]] bool needs(int lap, int rank, int owner, int half) const noexcept {
    return (needed_laps(rank, owner, half) >> lap & 1U) != 0;
  }
  // The laps on which they do, one bit per lap.
  [[nodiscard]] std::uint32_t needed_laps(int rank, int owner, int half) const noexcept {
    const auto row = static_cast<std::size_t>(rank) * static_cast<std::size_t>(ranks());
    return needs_[(row + static_cast<std::size_t>(owner)) * kHalves + static_cast<std::size_t>(half)];
  }
  // How much of these pairs the mask covers, over all sequences and heads.
  [[nodiscard]] Cover cover(const Stretch& queries, const Stretch& keys) const;
  [[nodiscard]] std::string fingerprint() const;  // equal on two ranks if their needs_ are equal

  // The rank `steps` places after `rank` in the ring.
  [[nodiscard]] int after(int rank, int steps) const noexcept { return ((rank + steps) % ranks() + ranks()) % ranks(); }

 private:
  [[nodiscard]] std::uint32_t find_laps(int rank, int owner, int half) const;

  Mask mask_;
  Extent whole_;
  RingSplit queries_, keys_;
  int laps_ = 1;
  std::vector<std::uint32_t> needs_;  // [rank][owner][half]
};

// A rank's part of a ring, after its checks.
struct RingCall {
  const Inputs& in;
  const Options& options;
  Ranks& ranks;
  Sizes sizes;  // of this rank's part
  RingPlan plan;
  bool shared_dense = false;  // the dense bias is the same for all queries

  [[nodiscard]] int me() const noexcept { return ranks.rank(); }
};

// Collective. Checks the problem of every rank and that all ranks agree; otherwise all throw std::invalid_argument.
// `check` throws if anything else is wrong on this rank; `name` is the public function, for the message.
RingCall make_ring_call(const char* name, const Inputs& in, const Options& options, const Ring& ring,
                        const std::function<void()>& check);

// A slice of a rank's queries: rows [row, row + size) of the rank, positions `at` in the whole.
struct QuerySlice {
  std::int64_t row = 0;
  Stretch at;
};
// All of a rank's queries in slices. Transfers advance between two slices. Long slices waste little time: the keys of a
// block are packed once per slice, in O(keys).
std::vector<QuerySlice> slices_of(const RingSplit& split, int rank);

// The options of a block of the whole. Without the sink, which counts once per row, not once per block.
Options block_options(const RingCall& call, const QuerySlice& slice, const Stretch& keys);
// Rows [row, row + count) of a [B, H, n, D] view.
AnyView<4> rows_from(AnyView<4> view, std::int64_t row, std::int64_t count);
template <typename T>
View<T, 4> rows_from(View<T, 4> view, std::int64_t row, std::int64_t count) {
  view.data += row * view.strides[2];
  view.shape[2] = count;
  return view;
}
template <typename T>
View<T, 3> rows_from(View<T, 3> view, std::int64_t row, std::int64_t count) {
  view.data += row * view.strides[2];
  view.shape[2] = count;
  return view;
}

// Measures wall time from its construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Keys and values in transit. At step s of a lap, a rank computes with those of the rank s places before it, while
// those of the next step arrive: from the neighbour, which has just used them, or from their owner if the neighbour
// does not need them.
class TravellingKeys {
 public:
  TravellingKeys(const RingCall& call, RingReport& report);

  // Packs this rank's own pieces of the lap.
  void start(int lap);
  // Starts the transfers of step + 1.
  void begin(int step);
  // Lets the transfers make progress.
  void advance() { under_way_->advance(); }
  // Waits for the transfers of step + 1.
  void end(int step);

  struct Keys {
    AnyView<4> k, v;  // [B, G, m, D], [B, G, m, E]
    Stretch at;       // in the whole
  };
  // The keys of this step; nothing if this rank's queries see none of them.
  [[nodiscard]] std::optional<Keys> at(int step, int half) const;
  [[nodiscard]] int owner(int step) const noexcept { return call_.plan.after(call_.me(), -step); }

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
  };
  [[nodiscard]] std::size_t key_bytes(std::int64_t keys) const noexcept;  // rounded up, so that the values are aligned
  [[nodiscard]] std::size_t bytes(std::int64_t keys) const noexcept;
  [[nodiscard]] std::span<std::byte> buffer(int which, int owner, int half) const noexcept;
  [[nodiscard]] std::uint32_t wanted_laps(int half) const noexcept;
  void pack(int half);
  void send(int which, int owner, int half, int to);

  const RingCall& call_;
  RingReport& report_;
  std::unique_ptr<Transfers> under_way_;
  int lap_ = 0;
  std::size_t most_ = 0;  // bytes of the longest piece
  Buffer mine_, met_[2];  // own keys, received keys; each has room for two pieces
};

}  // namespace attn
