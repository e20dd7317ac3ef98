// engine/attention/backward.cc - schedules the gradients: blocks of keys, each against all queries that see it,
// distributed over threads.
//
// One task owns a key head of a sequence, or a part of its keys, and computes dq, dk and dv in one pass. The parts
// depend on the shape alone. Each has its own dq, and these are added in order, so the bits are the same for any number
// of threads.
#include "attn/backward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/attention/problem.h"
#include "engine/kernels/attention/backward.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

constexpr std::int64_t kTasks = 16;                             // with so many key heads, keys are not split
constexpr std::int64_t kBlockFloats = std::int64_t{128} << 10;  // a block of keys and its sums: 512 KB
constexpr std::int64_t kTermRows = 256;                         // rows per task that computes delta
constexpr std::int64_t kTileRowsOfBlock = kernels::kGradientRows / kTileRows;

// Some keys of one key head.
struct GradientPart {
  const Sequence* sequence = nullptr;
  std::int64_t key_head = 0;
  std::int64_t number = 0;          // index among the parts of this key head
  std::int64_t begin = 0, end = 0;  // keys; begin is a multiple of kTileKeys
  float* dq = nullptr;              // its own [group][N][D]; null: writes to the result itself
  float* d_bias = nullptr;          // its own [group][W]; null: not wanted
};

struct Call {
  const Problem& problem;
  const Outputs& outputs;
  const Gradients& to;
  std::vector<GradientPart> parts;
  Floats terms, queries, biases;
  float* lse = nullptr;    // [B][H][N], as row_terms writes it
  float* delta = nullptr;  // [B][H][N]

  [[nodiscard]] std::int64_t row(const Sequence& s, std::int64_t h) const noexcept {
    const Sizes& n = problem.sizes;
    return (s.batch * n.heads + h) * n.queries + s.first_query;
  }
};

kernels::Rows sequence_rows(const View<const float, 4>& view, const Sequence& s, std::int64_t h) {
  return {view.at(s.batch, h, s.first_query), view.strides[2], kernels::Element::float32};
}

// ---- parts ----

std::int64_t block_keys(const Sizes& n) {
  const std::int64_t fit = kBlockFloats / (3 * n.width + 2 * n.value_width) / kTileKeys * kTileKeys;
  return std::clamp(fit, kTileKeys, kernels::kGradientKeys);
}

std::int64_t count_parts(const Problem& p, const Sequence& s) {
  const std::int64_t owners = std::ssize(p.sequences) * p.sizes.key_heads;
  const std::int64_t wanted = (kTasks + owners - 1) / owners;
  return std::clamp<std::int64_t>(s.keys / (2 * block_keys(p.sizes)), 1, wanted);
}

// First parts first: under a causal mask they take longest.
std::vector<GradientPart> make_gradient_parts(const Problem& p) {
  std::vector<GradientPart> parts;
  for (std::int64_t number = 0; number < kTasks; ++number) {
    for (const Sequence& s : p.sequences) {
      const std::int64_t count = count_parts(p, s);
      if (number >= count) continue;
      const std::int64_t tiles = (s.keys + kTileKeys - 1) / kTileKeys;
      const std::int64_t begin = tiles * number / count * kTileKeys;
      const std::int64_t end = std::min(s.keys, tiles * (number + 1) / count * kTileKeys);
      for (std::int64_t g = 0; g < p.sizes.key_heads; ++g) parts.push_back({&s, g, number, begin, end});
    }
  }
  return parts;
}

void give_memory(Call& call) {
  const Sizes& n = call.problem.sizes;
  const std::int64_t rows = n.batch * n.heads * n.queries;
  call.lse = call.terms.reserve(2 * rows);
  call.delta = call.lse + rows;
  const auto dq_floats = [&](const GradientPart& part) {
    return part.number == 0 ? 0 : n.group() * part.sequence->queries * n.width;
  };
  std::int64_t floats = 0;
  for (const GradientPart& part : call.parts) floats += dq_floats(part);
  float* dq = call.queries.reserve(floats);
  const std::int64_t distances = call.to.d_bias.empty() ? 0 : n.group() * call.to.d_bias.shape[1];
  float* d_bias = call.biases.reserve(std::ssize(call.parts) * distances);
  for (GradientPart& part : call.parts) {
    if (part.number != 0) part.dq = dq;
    dq += dq_floats(part);
    if (distances == 0) continue;
    part.d_bias = d_bias;
    d_bias += distances;
  }
}

// ---- lse and delta of the rows ----

void find_terms(const Call& call, ThreadPool& pool) {
  const Problem& p = call.problem;
  const std::int64_t pieces = (p.sizes.queries + kTermRows - 1) / kTermRows;
  pool.run(std::ssize(p.sequences) * p.sizes.heads * pieces, [&](std::int64_t task, int) {
    const Sequence& s = p.sequences[static_cast<std::size_t>(task / pieces / p.sizes.heads)];
    const std::int64_t h = task / pieces % p.sizes.heads;
    const std::int64_t first = task % pieces * kTermRows;
    if (first >= s.queries) return;
    const View<const float, 3>& lse = call.outputs.lse;
    kernels::RowTerms t;
    t.out = from_row(sequence_rows(call.outputs.out, s, h), first);
    t.d_out = from_row(sequence_rows(call.outputs.d_out, s, h), first);
    t.value_width = p.sizes.value_width;
    t.lse = lse.at(s.batch, h, s.first_query + first);
    t.lse_stride = lse.strides[2];
    if (const View<const float, 3>& d_lse = call.outputs.d_lse; !d_lse.empty()) {
      t.d_lse = d_lse.at(s.batch, h, s.first_query + first);
      t.d_lse_stride = d_lse.strides[2];
    }
    t.rows = std::min(kTermRows, s.queries - first);
    t.to_lse = call.lse + call.row(s, h) + first;
    t.to_delta = call.delta + call.row(s, h) + first;
    kernels::row_terms(t);
  });
}

// The sink takes the share exp(sink - lse) of each row.
void find_sink(const Call& call) {
  const Problem& p = call.problem;
  for (std::int64_t h = 0; h < p.sizes.heads; ++h) {
    const float sink = p.options->sink(h);
    double sum = 0;
    for (const Sequence& s : p.sequences) {
      const float* lse = call.outputs.lse.at(s.batch, h, s.first_query);
      const float* delta = call.delta + call.row(s, h);
      for (std::int64_t i = 0; i < s.queries && sink != kernels::kNever; ++i) {
        sum -= static_cast<double>(std::exp(sink - lse[i * call.outputs.lse.strides[2]]) * delta[i]);
      }
    }
    call.to.d_sink(h) = static_cast<float>(sum);
  }
}

// ---- one part ----

// Rows of tiles [first, last).
struct TileRows {
  std::int64_t first = 0, last = 0;
};

// The rows of tiles that see each block of keys, [begin, begin + step) and so on.
std::vector<TileRows> who_looks(const GradientPart& part, std::int64_t h, std::int64_t step) {
  const Sequence& s = *part.sequence;
  const std::int64_t tile_rows = (s.queries + kTileRows - 1) / kTileRows;
  std::vector<TileRows> rows(static_cast<std::size_t>((part.end - part.begin + step - 1) / step), {tile_rows, 0});
  for (std::int64_t t = 0; t < tile_rows; ++t) {
    const auto spans = s.plan->row(s.plan_batch, h, t);
    if (spans.empty()) continue;
    const std::int64_t from = std::max(spans.front().first * kTileKeys, part.begin) - part.begin;
    const std::int64_t to = std::min(spans.back().last * kTileKeys, part.end) - part.begin;
    for (std::int64_t block = from / step; block * step < to; ++block) {
      TileRows& looks = rows[static_cast<std::size_t>(block)];
      looks.first = std::min(looks.first, t);
      looks.last = t + 1;
    }
  }
  return rows;
}

struct Covers {
  static constexpr std::size_t kTiles = kTileRowsOfBlock * kernels::kGradientTiles;
  std::array<kernels::TileCover, kTiles> tiles;
  std::array<std::array<std::uint64_t, kTileRows>, kTiles> bits;  // of tiles that a plan does not store
};

// Copies the plan of the tile rows from t on, at the block's keys. Returns whether anything is visible.
bool find_covers(const kernels::Backward& task, const Sequence& s, std::int64_t h, Covers& covers) {
  covers.tiles.fill({});
  const std::int64_t begin = task.first_key / kTileKeys;
  const std::int64_t end = begin + (task.block.keys + kTileKeys - 1) / kTileKeys;
  bool any = false;
  for (std::int64_t row = 0; row < task.rows; row += kTileRows) {
    const std::int64_t t = (task.first + row) / kTileRows;
    const auto spans = s.plan->row(s.plan_batch, h, t);
    auto span = std::upper_bound(spans.begin(), spans.end(), begin,
                                 [](std::int64_t tile, const TileSpan& at) { return tile < at.last; });
    for (; span != spans.end() && span->first < end; ++span) {
      const bool stored = span->bits >= 0, mixed = span->bits == TileSpan::kMixed;
      const std::int64_t last = std::min<std::int64_t>(span->last, end);
      for (std::int64_t n = std::max<std::int64_t>(span->first, begin); n < last; ++n) {
        const auto at = static_cast<std::size_t>(row / kTileRows * kernels::kGradientTiles + n - begin);
        const std::uint64_t* bits = stored ? s.plan->bits(span->bits) : nullptr;
        if (mixed) {
          const Cover cover = s.plan->look(s.plan_batch, h, t, n, covers.bits[at].data());
          if (cover == Cover::none) continue;
          if (cover == Cover::some) bits = covers.bits[at].data();
        }
        covers.tiles[at] = {true, bits};
        any = true;
      }
    }
  }
  return any;
}

// A block of keys against the queries of one head.
void run_head(const Call& call, const GradientPart& part, kernels::Backward& t, std::int64_t h, const TileRows& looks) {
  const Problem& p = call.problem;
  const Sequence& s = *part.sequence;
  const std::int64_t in_group = h % p.sizes.group();
  t.q = p.q(s, h);
  t.d_out = sequence_rows(call.outputs.d_out, s, h);
  t.lse = call.lse + call.row(s, h);
  t.delta = call.delta + call.row(s, h);
  t.scoring = p.scoring(s, h);
  t.dropout = p.dropout(s, h);
  t.dq = part.dq != nullptr ? part.dq + in_group * s.queries * p.sizes.width : call.to.dq.at(s.batch, h, s.first_query);
  t.dq_stride = part.dq != nullptr ? p.sizes.width : call.to.dq.strides[2];
  if (part.d_bias != nullptr) t.d_bias = part.d_bias + in_group * call.to.d_bias.shape[1] + p.bias_centre;
  const View<float, 4>& dense = call.to.d_dense_bias;
  if (!dense.empty()) {
    t.d_dense = dense.at(dense.shape[0] == 1 ? 0 : s.batch, dense.shape[1] == 1 ? 0 : h);
    t.d_dense_stride = dense.shape[2] == 1 ? 0 : dense.strides[2];
  }
  Covers covers;
  t.tiles = covers.tiles.data();
  const std::int64_t end = std::min(s.queries, looks.last * kTileRows);
  for (t.first = looks.first * kTileRows; t.first < end; t.first += kernels::kGradientRows) {
    t.rows = std::min(kernels::kGradientRows, end - t.first);
    t.next_rows = std::min(kernels::kGradientRows, end - t.first - t.rows);
    if (find_covers(t, s, h, covers)) kernels::backward(t);
  }
}

void clear_part(const Call& call, const GradientPart& part) {
  const Sizes& n = call.problem.sizes;
  const Sequence& s = *part.sequence;
  if (part.dq != nullptr) std::fill_n(part.dq, n.group() * s.queries * n.width, 0.0F);
  if (part.d_bias != nullptr) std::fill_n(part.d_bias, n.group() * call.to.d_bias.shape[1], 0.0F);
  if (part.dq != nullptr) return;
  for (std::int64_t h = part.key_head * n.group(); h < (part.key_head + 1) * n.group(); ++h) {
    for (std::int64_t i = 0; i < s.queries; ++i)
      std::fill_n(call.to.dq.at(s.batch, h, s.first_query + i), n.width, 0.0F);
  }
}

void run_gradient_part(const Call& call, const GradientPart& part) {
  const Problem& p = call.problem;
  const Sizes& n = p.sizes;
  const Sequence& s = *part.sequence;
  const std::int64_t step = block_keys(n), first_head = part.key_head * n.group();
  clear_part(call, part);
  std::vector<std::vector<TileRows>> looks;
  for (std::int64_t h = 0; h < (s.plan->per_head() ? n.group() : 1); ++h)
    looks.push_back(who_looks(part, first_head + h, step));

  Workspace& work = Workspace::mine();
  const std::int64_t block_floats = kernels::key_block_floats(step, n.width, n.value_width);
  kernels::Backward t;
  t.block.width = n.width;
  t.block.value_width = n.value_width;
  t.block.scale = p.scale;
  t.block.memory = work.kernel.reserve(block_floats + kernels::backward_scratch(n.width, n.value_width));
  t.scratch = t.block.memory + block_floats;
  for (t.first_key = part.begin; t.first_key < part.end; t.first_key += step) {
    t.block.keys = std::min(step, part.end - t.first_key);
    t.block.k = from_row(p.k(s, part.key_head), t.first_key);
    t.block.v = from_row(p.v(s, part.key_head), t.first_key);
    kernels::begin_keys(t.block);
    const auto block = static_cast<std::size_t>((t.first_key - part.begin) / step);
    for (std::int64_t h = 0; h < n.group(); ++h) {
      const std::size_t which = looks.size() == 1 ? 0 : static_cast<std::size_t>(h);
      run_head(call, part, t, first_head + h, looks[which][block]);
    }
    kernels::EndKeys end;
    end.block = t.block;
    end.dk_scale = p.options->softcap > 0 ? p.options->softcap : 1 / kernels::kLog2E;  // q was scaled by the rest
    end.dk = call.to.dk.at(s.batch, part.key_head, s.first_key + t.first_key);
    end.dv = call.to.dv.at(s.batch, part.key_head, s.first_key + t.first_key);
    end.dk_stride = call.to.dk.strides[2];
    end.dv_stride = call.to.dv.strides[2];
    kernels::end_keys(end);
  }
  work.release();
}

// ---- merging the parts ----

void add_queries(const Call& call, ThreadPool& pool) {
  const Sizes& n = call.problem.sizes;
  for (const GradientPart& part : call.parts) {  // in the order of their numbers
    if (part.dq == nullptr) continue;
    const Sequence& s = *part.sequence;
    const std::int64_t pieces = (s.queries + kTermRows - 1) / kTermRows;
    pool.run(n.group() * pieces, [&](std::int64_t task, int) {
      const std::int64_t h = task / pieces, first = task % pieces * kTermRows;
      for (std::int64_t i = first; i < std::min(first + kTermRows, s.queries); ++i) {
        const float* from = part.dq + (h * s.queries + i) * n.width;
        float* to = call.to.dq.at(s.batch, part.key_head * n.group() + h, s.first_query + i);
        for (std::int64_t d = 0; d < n.width; ++d) to[d] += from[d];
      }
    });
  }
}

void add_biases(const Call& call) {
  const View<float, 2>& to = call.to.d_bias;
  const std::int64_t group = call.problem.sizes.group(), distances = to.shape[1];
  for (std::int64_t h = 0; h < to.shape[0]; ++h) std::fill_n(to.at(h), distances, 0.0F);
  for (const GradientPart& part : call.parts) {
    for (std::int64_t h = 0; h < group; ++h) {
      float* sums = to.at(to.shape[0] == 1 ? 0 : part.key_head * group + h);
      for (std::int64_t x = 0; x < distances; ++x) sums[x] += part.d_bias[h * distances + x];
    }
  }
}

// If batches or heads share a dense bias, they add to its gradient one after the other. Only parts of the keys of one
// head, which do not overlap, run in parallel.
void run_parts(const Call& call, ThreadPool& pool) {
  const View<float, 4>& dense = call.to.d_dense_bias;
  const Sizes& n = call.problem.sizes;
  const bool shared = !dense.empty() && ((dense.shape[0] == 1 && n.batch > 1) || (dense.shape[1] == 1 && n.heads > 1));
  if (!shared) {
    pool.run(std::ssize(call.parts),
             [&](std::int64_t t, int) { run_gradient_part(call, call.parts[static_cast<std::size_t>(t)]); });
    return;
  }
  for (const GradientPart& first : call.parts) {
    if (first.number != 0) continue;
    std::vector<const GradientPart*> together;
    for (const GradientPart& part : call.parts) {
      if (part.sequence == first.sequence && part.key_head == first.key_head) together.push_back(&part);
    }
    pool.run(std::ssize(together),
             [&](std::int64_t t, int) { run_gradient_part(call, *together[static_cast<std::size_t>(t)]); });
  }
}

void compute_gradients(const Problem& problem, const Outputs& outputs, const Gradients& to, ThreadPool& pool) {
  Workspace& work = Workspace::mine();  // reused: fresh pages would cost more than the sums; tasks have their own
  Call call{problem, outputs, to, {}, std::move(work.values), std::move(work.panels), {}};
  if (!problem.sequences.empty() && problem.sizes.heads > 0) call.parts = make_gradient_parts(problem);
  give_memory(call);
  find_terms(call, pool);
  if (!to.d_dense_bias.empty()) write_zeros(to.d_dense_bias);
  run_parts(call, pool);
  add_queries(call, pool);
  if (!to.d_bias.empty()) add_biases(call);
  if (!to.d_sink.empty()) find_sink(call);
  work.values = std::move(call.terms);
  work.panels = std::move(call.queries);
  work.release();
}

// Writes zeros for keys that no query sees.
void clear_keys(const Gradients& to, std::int64_t b, std::int64_t begin, std::int64_t end) {
  for (std::int64_t g = 0; g < to.dk.shape[1]; ++g) {
    for (std::int64_t j = begin; j < end; ++j) {
      std::fill_n(to.dk.at(b, g, j), to.dk.shape[3], 0.0F);
      std::fill_n(to.dv.at(b, g, j), to.dv.shape[3], 0.0F);
    }
  }
}

}  // namespace

void attention_backward(const Inputs& in, const Options& options, const Outputs& outputs, const Gradients& to,
                        ThreadPool& pool) {
  const Sizes n = check_backward(in, options, outputs, to);
  check_options(options, n);
  compute_gradients(batch_problem(in, options, n), outputs, to, pool);
}

void attention_backward(const Inputs& in, const Options& options, const Packing& packing, const Outputs& outputs,
                        const Gradients& to, ThreadPool& pool) {
  const Problem problem = packed_problem(in, options, packing, check_backward(in, options, outputs, to));
  for (std::size_t s = 0; s + 1 < packing.queries.size(); ++s) {
    if (packing.queries[s] == packing.queries[s + 1]) clear_keys(to, 0, packing.keys[s], packing.keys[s + 1]);
  }
  compute_gradients(problem, outputs, to, pool);
}

}  // namespace attn
