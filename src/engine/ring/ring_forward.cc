// engine/ring/ring_forward.cc - ring attention block by block, each against the keys of one step. exp(lse) of a block
// is its share of the whole softmax, by which blocks are merged.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/kernels/common/plain.h"
#include "engine/ring/ring.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

constexpr std::int64_t kMergeRows = 256;  // rows per task

// A row whose final lse is top + log(total): one logarithm per row, not one per merge.
struct RingRow {
  float* out;
  float& top;
  float& total;
};

// Merges the result of other keys into a row. The bits depend on the order, which is that of the ring.
void merge_block_row(const RingRow& row, const float* more, float more_lse, std::int64_t width) {
  if (more_lse == kernels::kNever) return;
  if (row.top == kernels::kNever) {
    std::copy_n(more, width, row.out);
    row.top = more_lse;
    return;
  }
  const bool below = more_lse <= row.top;
  const float smaller = std::exp(below ? more_lse - row.top : row.top - more_lse);
  const float old_part = below ? row.total : row.total * smaller, new_part = below ? smaller : 1;
  row.total = old_part + new_part;
  if (!below) row.top = more_lse;
  const float old_share = old_part / row.total, new_share = new_part / row.total;
  for (std::int64_t e = 0; e < width; ++e) row.out[e] = old_share * row.out[e] + new_share * more[e];
}

// The running results of this rank's rows.
class RingSums {
 public:
  RingSums(const RingCall& call, const View<float, 4>& out, const View<float, 3>& lse, ThreadPool& pool)
      : call_(call), out_(out), lse_(lse), pool_(pool), slices_(slices_of(call.plan.queries(), call.me())) {
    if (lse_.empty()) lse_ = {own_lse_.reserve(rows()), {n().batch, n().heads, n().queries}};
    begun_.resize(slices_.size());
    total_ = {totals_.reserve(rows()), lse_.shape};
    std::fill_n(total_.data, rows(), 1.0F);
  }

  // Adds the results for these keys, slice by slice.
  template <typename F>
  void add(const TravellingKeys::Keys& keys, const F& between) {
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      if (call_.plan.cover(slices_[s].at, keys.at) == Cover::none) continue;
      add_to(s, keys);
      between();
    }
  }

  // Finishes the rows: those that saw no key, the sink, the logarithms.
  void finish() {
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      if (begun_[s]) continue;
      const QuerySlice& slice = slices_[s];
      each_row(slice, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
        std::fill_n(out_.at(b, h, slice.row + i), n().value_width, 0.0F);
        lse_(b, h, slice.row + i) = kernels::kNever;
      });
    }
    const std::vector<float> nothing(static_cast<std::size_t>(n().value_width), 0.0F);
    each_row({0, {0, n().queries}}, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      if (!call_.options.sink.empty()) {
        merge_block_row(row(b, h, i), nothing.data(), call_.options.sink(h), n().value_width);
      }
      lse_(b, h, i) += std::log(total_(b, h, i));
    });
  }

 private:
  [[nodiscard]] const Sizes& n() const noexcept { return call_.sizes; }
  [[nodiscard]] std::int64_t rows() const noexcept { return n().batch * n().heads * n().queries; }
  [[nodiscard]] RingRow row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return {out_.at(b, h, i), lse_(b, h, i), total_(b, h, i)};
  }

  void add_to(std::size_t s, const TravellingKeys::Keys& keys) {
    const QuerySlice& slice = slices_[s];
    const std::int64_t count = slice.at.size();
    const Inputs block{rows_from(call_.in.q, slice.row, count), keys.k, keys.v};
    const Options options = block_options(call_, slice, keys.at);
    const View<float, 4> out = rows_from(out_, slice.row, count);
    const View<float, 3> lse = rows_from(lse_, slice.row, count);
    if (!begun_[s]) {
      begun_[s] = true;
      attention(block, options, out, lse, pool_);
      return;
    }
    const std::int64_t all = n().batch * n().heads * count;
    float* const memory = more_.reserve(all * (n().value_width + 1));
    const View<float, 4> more(memory, out.shape);
    const View<float, 3> more_lse(memory + all * n().value_width, lse.shape);
    attention(block, options, more, more_lse, pool_);
    each_row(slice, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      merge_block_row(row(b, h, slice.row + i), more.at(b, h, i), more_lse(b, h, i), n().value_width);
    });
  }

  template <typename F>
  void each_row(const QuerySlice& slice, const F& visit) {
    const std::int64_t count = slice.at.size(), parts = (count + kMergeRows - 1) / kMergeRows;
    pool_.run(n().batch * n().heads * parts, [&](std::int64_t task, int) {
      const std::int64_t b = task / parts / n().heads, h = task / parts % n().heads, first = task % parts * kMergeRows;
      for (std::int64_t i = first; i < std::min(first + kMergeRows, count); ++i) visit(b, h, i);
    });
  }

  const RingCall& call_;
  View<float, 4> out_;
  View<float, 3> lse_;
  ThreadPool& pool_;
  std::vector<QuerySlice> slices_;
  std::vector<bool> begun_;
  View<float, 3> total_;  // [B, H, n]
  Floats own_lse_, totals_, more_;
};

}  // namespace

RingReport ring_attention(const Inputs& in, const Options& options, const Ring& ring, View<float, 4> out,
                          View<float, 3> lse, ThreadPool& pool) {
  const Stopwatch watch;
  const RingCall call =
      make_ring_call("ring_attention", in, options, ring, [&] { check_outputs(check_inputs(in), out, lse); });
  RingReport report;
  TravellingKeys keys(call, report);
  RingSums sums(call, out, lse, pool);
  for (int lap = 0; lap < call.plan.laps(); ++lap) {
    keys.start(lap);
    for (int step = 0; step < ring.ranks.size(); ++step) {
      keys.begin(step);
      for (int half = 0; half < kHalves; ++half) {
        if (const auto here = keys.at(step, half)) sums.add(*here, [&] { keys.advance(); });
      }
      keys.end(step);
    }
  }
  sums.finish();
  report.seconds = watch.seconds();
  return report;
}

}  // namespace attn
