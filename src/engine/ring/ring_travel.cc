// engine/ring/ring_travel.cc - sends keys and values round the ring.
#include <algorithm>

#include "engine/ring/ring.h"
#include "engine/runtime/copy_bytes.h"

namespace attn {
namespace {

constexpr std::size_t kLine = 64;  // bytes

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// Copies the rows of a strided view into a dense [B, G, m, D] array.
void copy_rows(const AnyView<4>& from, std::byte* to) {
  const std::size_t size = size_of(from.type), row = static_cast<std::size_t>(from.shape[3]) * size;
  const auto* const data = static_cast<const std::byte*>(from.data);
  for (std::int64_t b = 0; b < from.shape[0]; ++b) {
    for (std::int64_t g = 0; g < from.shape[1]; ++g) {
      for (std::int64_t j = 0; j < from.shape[2]; ++j, to += row) {
        const std::int64_t at = b * from.strides[0] + g * from.strides[1] + j * from.strides[2];
        copy_bytes(to, data + at * static_cast<std::int64_t>(size), row);
      }
    }
  }
}

}  // namespace

TravellingKeys::TravellingKeys(const RingCall& call, RingReport& report)
    : call_(call), report_(report), under_way_(call.ranks.transfers()) {
  const RingPlan& plan = call.plan;
  if (plan.ranks() == 1) return;
  bool wants = false;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    for (int half = 0; half < kHalves && rank != call.me(); ++half) {
      wants = wants || plan.needed_laps(call.me(), rank, half) != 0;
    }
    for (int lap = 0; lap < plan.laps(); ++lap) {
      for (int half = 0; half < kHalves; ++half) most_ = std::max(most_, bytes(plan.piece(lap, rank, half).size()));
    }
  }
  // Uninitialised: all of it is written before it is read.
  const auto room = [&] { return std::unique_ptr<std::byte[]>(new std::byte[kHalves * most_ + kLine]); };
  if ((wanted_laps(0) | wanted_laps(1)) != 0) mine_.bytes = room();
  if (!wants) return;
  met_[0].bytes = room();
  met_[1].bytes = room();
}

void TravellingKeys::start(int lap) {
  lap_ = lap;
  for (int half = 0; half < kHalves; ++half) {
    if ((wanted_laps(half) >> lap & 1U) != 0) pack(half);
  }
}

// The laps on which other ranks need this rank's keys.
std::uint32_t TravellingKeys::wanted_laps(int half) const noexcept {
  std::uint32_t laps = 0;
  for (int rank = 0; rank < call_.plan.ranks(); ++rank) {
    if (rank != call_.me()) laps |= call_.plan.needed_laps(rank, call_.me(), half);
  }
  return laps;
}

std::size_t TravellingKeys::key_bytes(std::int64_t keys) const noexcept {
  const Sizes& n = call_.sizes;
  return rounded(static_cast<std::size_t>(n.batch * n.key_heads * keys * n.width) * size_of(call_.in.k.type));
}

std::size_t TravellingKeys::bytes(std::int64_t keys) const noexcept {
  const Sizes& n = call_.sizes;
  return key_bytes(keys) +
         rounded(static_cast<std::size_t>(n.batch * n.key_heads * keys * n.value_width) * size_of(call_.in.v.type));
}

// The bytes of a piece in buffer 0 or 1, or among this rank's own keys if it owns them.
std::span<std::byte> TravellingKeys::buffer(int which, int owner, int half) const noexcept {
  const Buffer& room = owner == call_.me() ? mine_ : met_[which];
  void* start = room.bytes.get();
  std::size_t space = kHalves * most_ + kLine;
  auto* const aligned = static_cast<std::byte*>(std::align(kLine, kHalves * most_, start, space));
  return {aligned + static_cast<std::size_t>(half) * most_, bytes(call_.plan.piece(lap_, owner, half).size())};
}

void TravellingKeys::pack(int half) {
  const std::int64_t count = call_.plan.piece(lap_, call_.me(), half).size();
  const std::int64_t first = call_.plan.row(lap_, call_.me(), half);
  std::byte* const to = buffer(0, call_.me(), half).data();
  copy_rows(rows_from(call_.in.k, first, count), to);
  copy_rows(rows_from(call_.in.v, first, count), to + key_bytes(count));
}

void TravellingKeys::send(int which, int owner, int half, int to) {
  const std::span<const std::byte> parcel = buffer(which, owner, half);
  under_way_->send(parcel, to, half);
  report_.bytes += std::ssize(parcel);
  ++report_.sent;
}

// The keys of step s are in buffer s % 2.
void TravellingKeys::begin(int step) {
  const RingPlan& plan = call_.plan;
  if (step + 1 >= plan.ranks()) return;
  const int me = call_.me(), next = plan.after(me, 1), before = plan.after(me, -1);
  const int here = owner(step), coming = owner(step + 1), far = plan.after(me, step + 1);
  for (int half = 0; half < kHalves; ++half) {
    if (plan.needs(lap_, me, coming, half)) {
      const bool neighbour_has_it = before == coming || plan.needs(lap_, before, coming, half);
      under_way_->receive(buffer((step + 1) % 2, coming, half), neighbour_has_it ? before : coming, half);
    }
    if (!plan.needs(lap_, next, here, half)) {
      report_.skipped += plan.piece(lap_, here, half).size() > 0 ? 1 : 0;
    } else if (here == me || plan.needs(lap_, me, here, half)) {
      send(step % 2, here, half, next);
    }
    const bool passed_over = step > 0 && !plan.needs(lap_, plan.after(me, step), me, half);
    if (passed_over && plan.needs(lap_, far, me, half)) send(0, me, half, far);
  }
}

void TravellingKeys::end(int step) {
  if (step + 1 >= call_.plan.ranks()) return;
  const Stopwatch watch;
  under_way_->wait();
  report_.waiting += watch.seconds();
}

std::optional<TravellingKeys::Keys> TravellingKeys::at(int step, int half) const {
  const int from = owner(step);
  if (!call_.plan.needs(lap_, call_.me(), from, half)) return std::nullopt;
  const Stretch place = call_.plan.piece(lap_, from, half);
  if (from == call_.me()) {
    const std::int64_t first = call_.plan.row(lap_, from, half);
    return Keys{rows_from(call_.in.k, first, place.size()), rows_from(call_.in.v, first, place.size()), place};
  }
  const Sizes& n = call_.sizes;
  const std::byte* const bytes = buffer(step % 2, from, half).data();
  const Shape<4> k{n.batch, n.key_heads, place.size(), n.width}, v{n.batch, n.key_heads, place.size(), n.value_width};
  return Keys{{bytes, call_.in.k.type, k, dense_strides(k)},
              {bytes + key_bytes(place.size()), call_.in.v.type, v, dense_strides(v)},
              place};
}

}  // namespace attn
