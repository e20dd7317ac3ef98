// engine/ring/ring_backward.cc - gradients of ring attention.
//
// Keys and values travel as in the forward pass. A rank sends its contribution to the gradients of the keys it has used
// to the next rank that uses them, one step later, which adds its own. The last rank of such a row sends the sum home
// to the owner, where it arrives one more step later: on the next lap if that was the last step of this one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/ring/ring.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

constexpr int kOnward = 2, kHome = 4;  // message tags, plus half; 0 and 1 are keys

void add(std::span<float> to, std::span<const float> more) {
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += more[n];
}

void add(const View<float, 4>& to, const View<const float, 4>& more) {
  for (std::int64_t b = 0; b < to.shape[0]; ++b)
    for (std::int64_t h = 0; h < to.shape[1]; ++h)
      for (std::int64_t i = 0; i < to.shape[2]; ++i) {
        float* const at = to.at(b, h, i);
        const float* const from = more.at(b, h, i);
        for (std::int64_t d = 0; d < to.shape[3]; ++d) at[d] += from[d];
      }
}

// Gradients dk and dv of one stretch of keys, in one buffer.
class KeyGradients {
 public:
  void resize(const Sizes& n, std::int64_t keys) {
    const std::int64_t rows = n.batch * n.key_heads * keys;
    k_ = {n.batch, n.key_heads, keys, n.width};
    v_ = {n.batch, n.key_heads, keys, n.value_width};
    numbers_.resize(static_cast<std::size_t>(rows * (n.width + n.value_width)));
  }
  [[nodiscard]] View<float, 4> dk() noexcept { return {numbers_.data(), k_}; }
  [[nodiscard]] View<float, 4> dv() noexcept { return {numbers_.data() + k_[0] * k_[1] * k_[2] * k_[3], v_}; }
  [[nodiscard]] std::span<float> numbers() noexcept { return numbers_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return std::as_writable_bytes(numbers()); }

 private:
  Shape<4> k_{}, v_{};
  std::vector<float> numbers_;
};

// Computes blocks and keeps the gradients of this rank's queries.
class RingBlocks {
 public:
  RingBlocks(const RingCall& call, const Outputs& outputs, const Gradients& to, ThreadPool& pool)
      : call_(call), outputs_(outputs), to_(to), pool_(pool), slices_(slices_of(call.plan.queries(), call.me())) {
    write_zeros(to.dq);
    if (!to.d_dense_bias.empty()) write_zeros(to.d_dense_bias);
    for (std::int64_t h = 0; h < to.d_bias.shape[0]; ++h) std::fill_n(to.d_bias.at(h), to.d_bias.shape[1], 0.0F);
  }

  // The contribution of all of this rank's queries to the gradients of these keys.
  template <typename F>
  void run(const TravellingKeys::Keys& keys, KeyGradients& sums, const F& between) {
    sums.resize(call_.sizes, keys.at.size());
    std::ranges::fill(sums.numbers(), 0.0F);
    for (const QuerySlice& slice : slices_) {
      if (call_.plan.cover(slice.at, keys.at) == Cover::none) continue;
      run_block(keys, slice);
      add(sums.numbers(), block_.numbers());
      between();
    }
  }

  // Sums the gradients of the whole (bias, sink, shared dense bias) over the ranks.
  void finish() {
    if (!to_.d_bias.empty()) sum_rows(to_.d_bias);
    if (!to_.d_dense_bias.empty() && call_.shared_dense) {
      const View<float, 4>& dense = to_.d_dense_bias;
      for (std::int64_t b = 0; b < dense.shape[0]; ++b)
        for (std::int64_t h = 0; h < dense.shape[1]; ++h)
          sum(call_.ranks, std::span(dense.at(b, h), static_cast<std::size_t>(dense.shape[3])));
    }
    if (!to_.d_sink.empty()) find_sink();
  }

 private:
  void run_block(const TravellingKeys::Keys& keys, const QuerySlice& slice) {
    const std::int64_t count = slice.at.size(), m = keys.at.size();
    const Inputs in{rows_from(call_.in.q, slice.row, count), keys.k, keys.v};
    const Options options = block_options(call_, slice, keys.at);
    const Outputs outputs{rows_from(outputs_.out, slice.row, count), rows_from(outputs_.lse, slice.row, count),
                          rows_from(outputs_.d_out, slice.row, count),
                          outputs_.d_lse.empty() ? outputs_.d_lse : rows_from(outputs_.d_lse, slice.row, count)};
    block_.resize(call_.sizes, m);
    const View<float, 4> dq(queries_.reserve(in.q.shape[0] * in.q.shape[1] * count * in.q.shape[3]), in.q.shape);
    Gradients to{.dq = dq, .dk = block_.dk(), .dv = block_.dv(), .d_bias = {}, .d_sink = {}};
    if (!to_.d_bias.empty()) {
      const Shape<2> shape{to_.d_bias.shape[0], count + m - 1};
      to.d_bias = {biases_.reserve(shape[0] * shape[1]), shape};
    }
    if (!to_.d_dense_bias.empty()) {
      const Shape<4> shape = options.dense_bias.shape;
      to.d_dense_bias = {dense_.reserve(shape[0] * shape[1] * shape[2] * shape[3]), shape};
    }
    attention_backward(in, options, outputs, to, pool_);
    add(rows_from(to_.dq, slice.row, count), dq);
    add_biases(to, slice, keys.at);
  }

  void add_biases(const Gradients& block, const QuerySlice& slice, const Stretch& keys) {
    const std::int64_t first = call_.plan.queries().length() - slice.at.size() + keys.begin - slice.at.begin;
    for (std::int64_t h = 0; h < block.d_bias.shape[0]; ++h) {
      const auto distances = static_cast<std::size_t>(block.d_bias.shape[1]);
      add(std::span(to_.d_bias.at(h) + first, distances), std::span(block.d_bias.at(h), distances));
    }
    if (block.d_dense_bias.empty()) return;
    View<float, 4> window = to_.d_dense_bias;
    window.data += keys.begin;
    window.shape[3] = keys.size();
    if (!call_.shared_dense && window.shape[2] != 1) window = rows_from(window, slice.row, slice.at.size());
    add(window, block.d_dense_bias);
  }

  // The sink has the share exp(sink - lse) of each row, whatever the keys.
  void find_sink() {
    const Sizes& n = call_.sizes;
    std::vector<double> sums(static_cast<std::size_t>(n.heads), 0.0);
    for (std::int64_t h = 0; h < n.heads; ++h) {
      const float sink = call_.options.sink(h);
      if (sink == -std::numeric_limits<float>::infinity()) continue;
      for (std::int64_t b = 0; b < n.batch; ++b) {
        for (std::int64_t i = 0; i < n.queries; ++i) {
          double delta = outputs_.d_lse.empty() ? 0.0 : -static_cast<double>(outputs_.d_lse(b, h, i));
          const float *out = outputs_.out.at(b, h, i), *d_out = outputs_.d_out.at(b, h, i);
          for (std::int64_t e = 0; e < n.value_width; ++e) delta += static_cast<double>(out[e]) * d_out[e];
          sums[static_cast<std::size_t>(h)] -= std::exp(static_cast<double>(sink) - outputs_.lse(b, h, i)) * delta;
        }
      }
    }
    sum(call_.ranks, std::span(sums));
    for (std::int64_t h = 0; h < n.heads; ++h) to_.d_sink(h) = static_cast<float>(sums[static_cast<std::size_t>(h)]);
  }

  void sum_rows(const View<float, 2>& rows) {
    for (std::int64_t h = 0; h < rows.shape[0]; ++h)
      sum(call_.ranks, std::span(rows.at(h), static_cast<std::size_t>(rows.shape[1])));
  }

  const RingCall& call_;
  const Outputs& outputs_;
  const Gradients& to_;
  ThreadPool& pool_;
  std::vector<QuerySlice> slices_;
  KeyGradients block_;
  Floats queries_, biases_, dense_;
};

struct Leg {
  int lap = 0, step = 0;
};

// Gradients of keys in transit: onward with the keys, then home to their owner.
class TravellingGradients {
 public:
  TravellingGradients(const RingCall& call, const Gradients& to, RingReport& report)
      : call_(call), to_(to), report_(report), arriving_(call.ranks.transfers()), leaving_(call.ranks.transfers()) {}

  // Starts to receive what others have added, to the keys of this step and to this rank's own.
  void begin(const Leg& leg) {
    const int me = call_.me(), here = plan().after(me, -leg.step), before = plan().after(me, -1);
    for (int half = 0; half < kHalves; ++half) {
      if (goes_on(leg.step) && plan().needs(leg.lap, me, here, half) && plan().needs(leg.lap, before, here, half)) {
        await(met_[half], plan().piece(leg.lap, here, half), before, half + kOnward);
      }
      const Leg last = before_this(leg);
      if (comes_home(last, half)) {
        await(home_[half], plan().piece(last.lap, me, half), plan().after(me, last.step), half + kHome);
      }
    }
  }

  // This rank's contribution to the keys of this step; may be changed until the end of the step.
  [[nodiscard]] KeyGradients& mine(const Leg& leg, int half) noexcept {
    return sums_[(leg.lap * plan().ranks() + leg.step) % 2][half];
  }
  void advance() {
    arriving_->advance();
    leaving_->advance();
  }

  void end(const Leg& leg) {
    const int me = call_.me(), here = plan().after(me, -leg.step), before = plan().after(me, -1);
    const Stopwatch watch;
    arriving_->wait();
    leaving_->wait();
    report_.waiting += watch.seconds();
    for (int half = 0; half < kHalves; ++half) {
      const Leg last = before_this(leg);
      if (comes_home(last, half)) take_home(home_[half], last.lap, half);
      if (leg.lap >= plan().laps() || !plan().needs(leg.lap, me, here, half)) continue;
      KeyGradients& sums = mine(leg, half);
      if (leg.step == 0) {
        take_home(sums, leg.lap, half);
        continue;
      }
      if (goes_on(leg.step) && plan().needs(leg.lap, before, here, half)) add(sums.numbers(), met_[half].numbers());
      const bool home = sends_home(leg, me, here, half);
      leaving_->send(sums.bytes(), home ? here : plan().after(me, 1), half + (home ? kHome : kOnward));
      report_.bytes += std::ssize(sums.bytes());
    }
  }
  // Receives the sums of the last step.
  void finish() {
    begin({plan().laps(), 0});
    end({plan().laps(), 0});
    const Stopwatch watch;
    leaving_->wait();
    report_.waiting += watch.seconds();
  }

 private:
  [[nodiscard]] const RingPlan& plan() const noexcept { return call_.plan; }

  [[nodiscard]] Leg before_this(const Leg& leg) const noexcept {
    return leg.step > 0 ? Leg{leg.lap, leg.step - 1} : Leg{leg.lap - 1, plan().ranks() - 1};
  }

  // Whether the rank before has used the same keys and is not their owner.
  [[nodiscard]] static bool goes_on(int step) noexcept { return step > 1; }

  // Whether a rank sends home, after this leg, what was added to this rank's keys.
  [[nodiscard]] bool comes_home(const Leg& leg, int half) const noexcept {
    return leg.lap >= 0 && sends_home(leg, plan().after(call_.me(), leg.step), call_.me(), half);
  }

  // Whether this rank is the last of consecutive ranks that use the owner's keys.
  [[nodiscard]] bool sends_home(const Leg& leg, int rank, int owner, int half) const noexcept {
    if (rank == owner || !plan().needs(leg.lap, rank, owner, half)) return false;
    return leg.step + 1 == plan().ranks() || !plan().needs(leg.lap, plan().after(rank, 1), owner, half);
  }

  void await(KeyGradients& to, const Stretch& keys, int from, int tag) {
    to.resize(call_.sizes, keys.size());
    arriving_->receive(to.bytes(), from, tag);
  }

  void take_home(KeyGradients& sums, int lap, int half) {
    const std::int64_t count = plan().piece(lap, call_.me(), half).size();
    const std::int64_t first = plan().row(lap, call_.me(), half);
    add(rows_from(to_.dk, first, count), sums.dk());
    add(rows_from(to_.dv, first, count), sums.dv());
  }

  const RingCall& call_;
  const Gradients& to_;
  RingReport& report_;
  std::unique_ptr<Transfers> arriving_, leaving_;
  KeyGradients sums_[2][kHalves], met_[kHalves], home_[kHalves];
};

}  // namespace

RingReport ring_attention_backward(const Inputs& in, const Options& options, const Ring& ring, const Outputs& outputs,
                                   const Gradients& to, ThreadPool& pool) {
  const Stopwatch watch;
  const RingCall call =
      make_ring_call("ring_attention_backward", in, options, ring, [&] { check_backward(in, options, outputs, to); });
  RingReport report;
  TravellingKeys keys(call, report);
  TravellingGradients gradients(call, to, report);
  RingBlocks blocks(call, outputs, to, pool);
  write_zeros(to.dk);
  write_zeros(to.dv);
  for (Leg leg; leg.lap < call.plan.laps(); ++leg.lap) {
    keys.start(leg.lap);
    for (leg.step = 0; leg.step < ring.ranks.size(); ++leg.step) {
      keys.begin(leg.step);
      gradients.begin(leg);
      for (int half = 0; half < kHalves; ++half) {
        if (const auto here = keys.at(leg.step, half)) {
          blocks.run(*here, gradients.mine(leg, half), [&] {
            keys.advance();
            gradients.advance();
          });
        }
      }
      keys.end(leg.step);
      gradients.end(leg);
    }
  }
  gradients.finish();
  blocks.finish();
  report.seconds = watch.seconds();
  return report;
}

}  // namespace attn
