// engine/ring/ring.h - what ring attention and its gradients have in common: who needs which keys, and how they travel.
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

// Each rank's tokens are two stretches; 0 is the early one.
inline constexpr int kHalves = 2;

// The keys go round the ring several times, a piece of each stretch on every lap, so that what is under way is small
// beside what a rank holds. Which pieces they are, and which rank's queries see anything of each.
class RingPlan {
 public:
  RingPlan(const Mask& mask, const Extent& whole, int ranks);

  [[nodiscard]] int ranks() const noexcept { return queries_.ranks(); }
  [[nodiscard]] const RingSplit& queries() const noexcept { return queries_; }
  [[nodiscard]] const RingSplit& keys() const noexcept { return keys_; }
  [[nodiscard]] int laps() const noexcept { return laps_; }
  // What of the owner's stretch travels on this lap.
  [[nodiscard]] Stretch piece(int lap, int owner, int half) const noexcept;
  // The first of its rows among the owner's.
  [[nodiscard]] std::int64_t row(int lap, int owner, int half) const noexcept;
  // Whether the rank's queries look at what of the owner's stretch travels on this lap.
  [[nodiscard]] bool needs(int lap, int rank, int owner, int half) const noexcept {
    return (needed_laps(rank, owner, half) >> lap & 1U) != 0;
  }
  // On which laps they do: a bit for each.
  [[nodiscard]] std::uint32_t needed_laps(int rank, int owner, int half) const noexcept {
    const auto row = static_cast<std::size_t>(rank) * static_cast<std::size_t>(ranks());
    return needs_[(row + static_cast<std::size_t>(owner)) * kHalves + static_cast<std::size_t>(half)];
  }
  // What the mask says of these pairs, in all sequences and heads.
  [[nodiscard]] Cover cover(const Stretch& queries, const Stretch& keys) const;
  [[nodiscard]] std::string fingerprint() const;  // the same where the same is needed

  // `rank` steps further round the ring.
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

// What the ranks say of the problem must be right and the same on all of them: else all throw std::invalid_argument.
// `check` throws where something besides is wrong on this rank; `name` is that of the call, for the message.
RingCall make_ring_call(const char* name, const Inputs& in, const Options& options, const Ring& ring,
                        const std::function<void()>& check);

// Some of a rank's queries: rows [row, row + size) there, `at` in the whole.
struct QuerySlice {
  std::int64_t row = 0;
  Stretch at;
};
// All of a rank's queries. Between two slices parcels get on; long ones waste nothing, since the keys of a block are
// packed once a slice, in O(keys).
std::vector<QuerySlice> slices_of(const RingSplit& split, int rank);

// Options as a block of the whole sees them: without the sink, which counts once a row and not once a block.
Options block_options(const RingCall& call, const QuerySlice& slice, const Stretch& keys);
// The rows of a [B, H, n, D] window from `row` on.
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

// How long parcels were waited for.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Keys and values on their way. At step s of a lap a rank works on those of the rank s places before it; meanwhile
// those of the next step arrive: from the neighbour, who has just had them, or where he had no use for them from their
// owner.
class TravellingKeys {
 public:
  TravellingKeys(const RingCall& call, RingReport& report);

  // Of each stretch the piece that this lap is for.
  void start(int lap);
  // Lets those of step + 1 set out.
  void begin(int step);
  // Gets parcels on.
  void advance() { under_way_->advance(); }
  // Waits for those of step + 1.
  void end(int step);

  struct Keys {
    AnyView<4> k, v;  // [B, G, m, D], [B, G, m, E]
    Stretch at;       // in the whole
  };
  // At this step; none: nobody here looks at them.
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
  Buffer mine_, met_[2];  // each has room for two pieces
};

}  // namespace attn
