// engine/attention/split.cc - few queries, many keys: distributes parts of the keys over threads instead of queries.
//
// Each part of the keys has its own output and lse; exp(lse) is its share of the whole softmax. The parts depend on the
// shape alone and are merged in order, so the bits are the same for any number of threads.
#include <algorithm>
#include <cmath>

#include "engine/attention/problem.h"
#include "engine/kernels/attention/decode.h"
#include "engine/kernels/attention/forward.h"
#include "engine/kernels/attention/pack.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

constexpr std::int64_t kMostQueries = 16;  // with more, blocks of queries keep all threads busy
constexpr std::int64_t kManyKeys = 4096;   // with fewer, packing them all is cheap
constexpr std::int64_t kPartKeys = 2048;   // least keys per part
constexpr std::int64_t kMostParts = 64;

// Whether there are so few rows that reading the keys takes longer than multiplying them.
bool reads_in_place(const Sequence& s, const Sizes& n) { return s.queries <= 4 || s.queries * n.group() <= 8; }

// One part of the keys for the query heads that share a key head.
struct SplitPart {
  const Sequence* sequence = nullptr;
  std::int64_t key_head = 0;
  std::int64_t begin = 0, end = 0;
  std::int64_t at = 0;  // first row of its results
};

struct Results {
  float* out = nullptr;  // [rows][E]
  float* lse = nullptr;  // [rows]
};

std::int64_t part_keys(std::int64_t keys) {
  const std::int64_t parts = std::clamp<std::int64_t>(keys / kPartKeys, 1, kMostParts);
  return std::max(kTileKeys, ((keys + parts - 1) / parts + kTileKeys - 1) / kTileKeys * kTileKeys);
}

std::vector<SplitPart> make_split_parts(const Problem& p) {
  std::vector<SplitPart> parts;
  std::int64_t at = 0;
  for (const Sequence& s : p.sequences) {
    const std::int64_t step = part_keys(s.keys);
    for (std::int64_t g = 0; g < p.sizes.key_heads; ++g) {
      for (std::int64_t begin = 0; begin == 0 || begin < s.keys; begin += step) {
        parts.push_back({&s, g, begin, std::min(s.keys, begin + step), at});
        at += p.sizes.group() * s.queries;
      }
    }
  }
  return parts;
}

// Heads [first, first + heads) of the part's group, which see the same keys.
void read_in_place(const Problem& p, const SplitPart& part, std::int64_t first, std::int64_t heads, const Results& to) {
  Workspace& work = Workspace::mine();
  const Sequence& s = *part.sequence;
  const std::int64_t h = part.key_head * p.sizes.group() + first;
  plan_visits({&s, h, 0, s.queries, part.begin, part.end, part.end}, work);
  std::vector<kernels::Scoring> scoring;
  std::vector<kernels::DropoutHash> dropout;
  for (std::int64_t n = 0; n < heads; ++n) {
    scoring.push_back(p.scoring(s, h + n));
    dropout.push_back(p.dropout(s, h + n));
  }
  kernels::Decode t;
  t.q = p.q(s, h);
  t.head_stride = p.in.q.strides[1];
  t.heads = heads;
  t.queries = s.queries;
  t.k = p.k(s, part.key_head);
  t.v = p.v(s, part.key_head);
  t.width = p.sizes.width;
  t.value_width = p.sizes.value_width;
  t.scoring = scoring.data();
  t.dropout = dropout.data();
  t.segments = work.segments.data();
  t.segment_count = std::ssize(work.segments);
  const std::int64_t row = part.at + first * s.queries;
  t.out = to.out + row * p.sizes.value_width;
  t.lse = to.lse + row;
  t.scratch = work.kernel.reserve(kernels::decode_scratch(heads * s.queries, p.sizes.value_width));
  kernels::decode(t);
}

// The same with keys packed into panels, as for many queries.
void pack_and_multiply(const Problem& p, const SplitPart& part, const Results& to) {
  Workspace& work = Workspace::mine();
  const Sequence& s = *part.sequence;
  const std::int64_t keys = part.end - part.begin;
  kernels::Forward t;
  float* panels = work.panels.reserve(kernels::panel_floats(keys, p.sizes.width));
  kernels::pack_keys({from_row(p.k(s, part.key_head), part.begin), 0, keys, p.sizes.width, panels});
  const kernels::Rows v = from_row(p.v(s, part.key_head), part.begin);
  const bool ready = kernels::values_are_ready(v, p.sizes.value_width);
  work.flags.resize(static_cast<std::size_t>((keys + kTileKeys - 1) / kTileKeys));
  const kernels::PackValues values{
      v,
      0,
      keys,
      p.sizes.value_width,
      keys,
      ready ? nullptr : work.values.reserve(kernels::value_floats(keys, p.sizes.value_width)),
      work.flags.data()};
  t.values = ready ? kernels::ready_layout(v) : kernels::packed_layout(values.to, keys);
  if (ready ? kernels::find_not_finite(values) : kernels::pack_values(values)) t.not_finite = work.flags.data();
  t.keys = panels;
  t.origin = part.begin;
  t.width = p.sizes.width;
  t.value_width = p.sizes.value_width;
  t.sink = kernels::kNever;
  t.rows = s.queries;
  t.out_stride = p.sizes.value_width;
  t.lse_stride = 1;
  t.scratch = work.kernel.reserve(kernels::forward_scratch(s.queries, p.sizes.value_width));
  for (std::int64_t n = 0; n < p.sizes.group(); ++n) {
    const std::int64_t h = part.key_head * p.sizes.group() + n;
    plan_visits({&s, h, 0, s.queries, part.begin, part.end, part.end}, work);
    t.q = p.q(s, h);
    t.scoring = p.scoring(s, h);
    t.dropout = p.dropout(s, h);
    t.segments = work.segments.data();
    t.visits = work.visits.data();
    t.visit_count = std::ssize(work.visits);
    t.out = to.out + (part.at + n * s.queries) * p.sizes.value_width;
    t.lse = to.lse + part.at + n * s.queries;
    kernels::forward(t);
  }
}

void run_split_part(const Problem& p, const SplitPart& part, const Results& to) {
  if (!reads_in_place(*part.sequence, p.sizes)) return pack_and_multiply(p, part, to);
  const std::int64_t group = p.sizes.group();
  const std::int64_t heads = part.sequence->plan->per_head() ? 1 : group;
  for (std::int64_t first = 0; first < group; first += heads) read_in_place(p, part, first, heads, to);
}

// Merges the parts of one row, which lie `step` rows apart in the results, in the order of their keys.
struct Merge {
  std::int64_t first = 0, step = 0, count = 0;
  float sink = 0;  // natural; -inf: none
};

float merge_split_row(const Merge& row, const Results& from, std::int64_t width, float* out) {
  using kernels::kNever;
  float top = row.sink;
  bool seen = false;  // NaN counts as seen
  for (std::int64_t n = 0; n < row.count; ++n) {
    const float lse = from.lse[row.first + n * row.step];
    top = std::max(top, lse);
    seen = seen || lse != kNever;
  }
  std::fill_n(out, width, 0.0F);
  if (!seen) return row.sink;
  if (top == kNever) top = 0;  // all of them NaN
  float total = row.sink == kNever ? 0.0F : std::exp(row.sink - top);
  for (std::int64_t n = 0; n < row.count; ++n) {
    const std::int64_t at = row.first + n * row.step;
    if (from.lse[at] == kNever) continue;
    const float share = std::exp(from.lse[at] - top);
    total += share;
    for (std::int64_t e = 0; e < width; ++e) out[e] += share * from.out[at * width + e];
  }
  for (std::int64_t e = 0; e < width; ++e) out[e] /= total;
  return top + std::log(total);
}

}  // namespace

bool wants_split(const Problem& p) noexcept {
  if (!p.weights.empty()) return false;
  const auto few = [&](const Sequence& s) {
    return reads_in_place(s, p.sizes) || (s.queries <= kMostQueries && s.keys >= kManyKeys);
  };
  return std::all_of(p.sequences.begin(), p.sequences.end(), few);
}

void run_split(const Problem& p, ThreadPool& pool) {
  const std::vector<SplitPart> parts = make_split_parts(p);
  const SplitPart& last = parts.back();
  const std::int64_t rows = last.at + p.sizes.group() * last.sequence->queries;
  Floats memory;
  Results results;
  results.out = memory.reserve(rows * (p.sizes.value_width + 1));
  results.lse = results.out + rows * p.sizes.value_width;
  pool.run(std::ssize(parts),
           [&](std::int64_t n, int) { run_split_part(p, parts[static_cast<std::size_t>(n)], results); });
  Workspace::mine().release();
  for (std::size_t n = 0; n < parts.size();) {  // the parts of one key head are consecutive
    const SplitPart& part = parts[n];
    const Sequence& s = *part.sequence;
    const std::int64_t count = std::max<std::int64_t>(1, (s.keys + part_keys(s.keys) - 1) / part_keys(s.keys));
    const std::int64_t step = p.sizes.group() * s.queries;
    for (std::int64_t r = 0; r < step; ++r) {
      const std::int64_t h = part.key_head * p.sizes.group() + r / s.queries, i = r % s.queries;
      const float sink = p.options->sink.empty() ? kernels::kNever : p.options->sink(h);
      const float lse = merge_split_row({part.at + r, step, count, sink}, results, p.sizes.value_width,
                                        p.out_row(s, h) + i * p.out.strides[2]);
      if (float* to = p.lse_row(s, h); to != nullptr) to[i * p.lse.strides[2]] = lse;
    }
    n += static_cast<std::size_t>(count);
  }
}

}  // namespace attn
