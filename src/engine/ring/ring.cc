// engine/ring/ring.cc - splits a sequence over ranks, checks that they agree, and makes blocks of the whole problem.
#include "engine/ring/ring.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "engine/runtime/number_text.h"

namespace attn {
namespace {

constexpr std::int64_t kSliceRows = 2048;

// At most a 16th of a stretch travels at once. A piece of fewer keys than this would cost too much time to merge (3% of
// its own at 1,024 keys, D 64) for the memory it saves.
constexpr std::int64_t kLeastKeys = 1024, kMostLaps = 16;
static_assert(kMostLaps < 32, "a lap is a bit of RingPlan::needed_laps()");
constexpr std::int64_t kPieceStep = 64;  // pieces start at multiples of this, as mask words and tiles do

const char* name_of(Type type) {
  return type == Type::float32 ? "float32" : type == Type::float16 ? "float16" : "bfloat16";
}

// The mask of a part of the whole, in positions of the part.
struct PartOfMask {
  Mask mask;
  Stretch queries, keys;
  std::int64_t all_keys = 0;  // of the whole

  // Words of the mask start at multiples of 64 in the whole.
  [[nodiscard]] std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t key = keys.begin + j, from = key & ~std::int64_t{63};
    const int shift = static_cast<int>(key - from);
    const std::uint64_t first = mask.row(b, h, queries.begin + i, from) >> shift;
    if (shift == 0 || from + 64 >= all_keys) return first;
    return first | mask.row(b, h, queries.begin + i, from + 64) << (64 - shift);
  }
  void rows(const Tile& tile, std::uint64_t* out) const {
    constexpr std::int64_t kAtOnce = 64;
    const std::int64_t key = keys.begin + tile.j0, from = key & ~std::int64_t{63};
    const int shift = static_cast<int>(key - from);
    const auto ask = [&](std::int64_t i, std::int64_t count, std::int64_t j, std::uint64_t* to) {
      mask.rows({tile.b, tile.h, queries.begin + i, queries.begin + i + count, j, std::min(j + 64, all_keys)}, to);
    };
    for (std::int64_t i = tile.i0; i < tile.i1; i += kAtOnce, out += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, tile.i1 - i);
      ask(i, count, from, out);
      if (shift == 0) continue;
      std::uint64_t more[kAtOnce] = {};
      if (from + 64 < all_keys) ask(i, count, from + 64, more);
      for (std::int64_t r = 0; r < count; ++r) out[r] = out[r] >> shift | more[r] << (64 - shift);
    }
  }
  [[nodiscard]] Cover cover(const Tile& tile) const {
    return mask.cover(
        {tile.b, tile.h, queries.begin + tile.i0, queries.begin + tile.i1, keys.begin + tile.j0, keys.begin + tile.j1});
  }
  [[nodiscard]] bool per_batch() const { return mask.per_batch(); }
  [[nodiscard]] bool per_head() const { return mask.per_head(); }
  [[nodiscard]] View<const float, 4> bias() const {
    View<const float, 4> part = mask.bias();
    if (part.empty()) return part;
    part.data += keys.begin;
    part.shape[3] = keys.size();
    if (part.shape[2] == 1) return part;
    part.data += queries.begin * part.strides[2];
    part.shape[2] = queries.size();
    return part;
  }
};

Sizes check_part(const Inputs& in, const Options& options, const Ring& ring) {
  const Sizes part = check_inputs(in);
  const int me = ring.ranks.rank(), ranks = ring.ranks.size();
  const auto need = [&](const char* what, std::int64_t rows, std::int64_t whole) {
    const std::int64_t right = RingSplit(whole, ranks).size(me);
    if (rows == right) return;
    throw std::invalid_argument("there are " + std::to_string(rows) + " " + what + ", but this rank's share of " +
                                std::to_string(whole) + " is " + std::to_string(right));
  };
  need("queries", part.queries, ring.queries);
  need("keys", part.keys, ring.keys);
  if (options.plan != nullptr) throw std::invalid_argument("a plan is not supported: every block has its own");
  Sizes whole = part;
  whole.queries = ring.queries;
  whole.keys = ring.keys;
  Options without = options;
  without.dense_bias = {};
  check_options(without, whole);
  options.mask.check({whole.batch, whole.heads, whole.queries, whole.keys});
  if (!options.dense_bias.empty()) {
    Options dense;
    dense.dense_bias = options.dense_bias;
    Sizes rows = part;
    rows.keys = ring.keys;
    check_options(dense, rows);
  }
  return part;
}

// Whether the dense bias has one row for all queries or one for each; a rank with one query cannot tell.
const char* dense_rows(const Options& options, std::int64_t queries) {
  if (options.dense_bias.empty()) return "none";
  if (queries == 1) return "any";
  return options.dense_bias.shape[2] == 1 ? "one" : "each";
}

}  // namespace

RingSplit::RingSplit(std::int64_t length, int ranks) : length_(length), ranks_(ranks) {
  if (ranks < 1) throw std::invalid_argument("a sequence cannot be split over " + std::to_string(ranks) + " ranks");
  if (length < ranks) {
    throw std::invalid_argument(std::to_string(ranks) + " ranks cannot share " + std::to_string(length) +
                                " tokens: there must be a token for each");
  }
}

std::int64_t RingSplit::size(int rank) const noexcept { return length_ / ranks_ + (rank < length_ % ranks_ ? 1 : 0); }

std::array<Stretch, 2> RingSplit::of(int rank) const noexcept {
  const std::int64_t share = length_ / ranks_, more = length_ % ranks_;  // the first `more` ranks have one token more
  const auto early = [&](std::int64_t tokens) { return (tokens + 1) / 2; };
  // Tokens in the early and late stretches of all ranks before this one.
  const std::int64_t longer = std::min<std::int64_t>(rank, more), others = rank - longer;
  const std::int64_t before = longer * early(share + 1) + others * early(share);
  const std::int64_t behind = longer * (share + 1 - early(share + 1)) + others * (share - early(share));
  const std::int64_t mine = size(rank);
  const std::int64_t end = length_ - behind;
  return {Stretch{before, before + early(mine)}, Stretch{end - (mine - early(mine)), end}};
}

RingPlan::RingPlan(const Mask& mask, const Extent& whole, int ranks)
    : mask_(mask), whole_(whole), queries_(whole.queries, ranks), keys_(whole.keys, ranks) {
  if (ranks > 1) laps_ = static_cast<int>(std::clamp<std::int64_t>(keys_.of(0)[0].size() / kLeastKeys, 1, kMostLaps));
  needs_.resize(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * kHalves);
  std::size_t at = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int owner = 0; owner < ranks; ++owner) {
      for (int half = 0; half < kHalves; ++half) needs_[at++] = find_laps(rank, owner, half);
    }
  }
}

// Tests single pieces only if the mask covers some of the stretch, which is rare with the usual masks.
std::uint32_t RingPlan::find_laps(int rank, int owner, int half) const {
  const std::uint32_t all_laps = (1U << laps_) - 1;
  const Stretch theirs = keys_.of(owner)[static_cast<std::size_t>(half)];
  std::uint32_t laps = 0;
  for (const Stretch& mine : queries_.of(rank)) {
    const Cover stretch = cover(mine, theirs);
    if (stretch == Cover::none) continue;
    if (stretch == Cover::all || laps_ == 1) return all_laps;
    for (int lap = 0; lap < laps_; ++lap) {
      if (cover(mine, piece(lap, owner, half)) != Cover::none) laps |= 1U << lap;
    }
  }
  return laps;
}

Stretch RingPlan::piece(int lap, int owner, int half) const noexcept {
  const Stretch all = keys_.of(owner)[static_cast<std::size_t>(half)];
  const auto place = [&](std::int64_t n) {
    return n == laps_ ? all.end : all.begin + all.size() * n / laps_ / kPieceStep * kPieceStep;
  };
  return {place(lap), place(lap + 1)};
}

std::int64_t RingPlan::row(int lap, int owner, int half) const noexcept {
  const std::array<Stretch, 2> halves = keys_.of(owner);
  return piece(lap, owner, half).begin - halves[static_cast<std::size_t>(half)].begin +
         (half == 0 ? 0 : halves[0].size());
}

namespace {

// Some rules examine only a few queries and return `some` for many.
constexpr std::int64_t kCoverRows = 256;

Cover refined_cover(const Mask& mask, const Tile& tile) {
  const Cover whole = mask.cover(tile);
  if (whole != Cover::some || tile.i1 - tile.i0 <= kCoverRows) return whole;
  for (std::int64_t i = tile.i0; i < tile.i1; i += kCoverRows) {
    const std::int64_t end = std::min(tile.i1, i + kCoverRows);
    if (mask.cover({tile.b, tile.h, i, end, tile.j0, tile.j1}) != Cover::none) return Cover::some;
  }
  return Cover::none;
}

}  // namespace

Cover RingPlan::cover(const Stretch& queries, const Stretch& keys) const {
  if (queries.size() == 0 || keys.size() == 0) return Cover::none;
  std::optional<Cover> all;
  for (std::int64_t b = 0; b < (mask_.per_batch() ? whole_.batch : 1); ++b) {
    for (std::int64_t h = 0; h < (mask_.per_head() ? whole_.heads : 1); ++h) {
      const Cover one = refined_cover(mask_, {b, h, queries.begin, queries.end, keys.begin, keys.end});
      if (all && *all != one) return Cover::some;
      all = one;
    }
  }
  return all.value_or(Cover::none);
}

std::string RingPlan::fingerprint() const {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const std::uint32_t laps : needs_) hash = (hash ^ laps) * 0x100000001B3U;
  return std::to_string(hash);
}

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;  // name, value

Facts facts_of(const Inputs& in, const Options& options, const Ring& ring) {
  const auto number = [](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>)
      return number_text(value);
    else
      return std::to_string(value);
  };
  const auto kind = [&](const AnyView<4>& view, bool keys) {
    Shape<4> shape = view.shape;
    shape[2] = keys ? ring.keys : ring.queries;
    return text_of(shape) + " of " + name_of(view.type);
  };
  const Shape<2> bias = options.bias.shape;
  return {{"N", number(ring.queries)},
          {"M", number(ring.keys)},
          {"the whole q", kind(in.q, false)},
          {"the whole k", kind(in.k, true)},
          {"the whole v", kind(in.v, true)},
          {"scale", options.scale ? number(*options.scale) : "the usual"},
          {"softcap", number(options.softcap)},
          {"bias", options.bias.empty() ? "none" : "[" + number(bias[0]) + ", " + number(bias[1]) + "]"},
          {"sink", options.sink.empty() ? "none" : number(options.sink.shape[0])},
          {"dropout", number(options.dropout.rate) + " by " + number(options.dropout.seed)}};
}

// The message to other ranks: one line per fact, or what is wrong.
std::string packed(const Facts& facts, const std::optional<std::string>& problem) {
  std::string bytes(1, problem ? '!' : ' ');
  if (problem) return bytes + *problem;
  for (const auto& [name, value] : facts) bytes += value + '\n';
  return bytes;
}

std::vector<std::string> lines_of(const std::string& bytes) {
  std::vector<std::string> lines;
  for (std::size_t from = 1; from < bytes.size();) {
    const std::size_t end = bytes.find('\n', from);
    lines.push_back(bytes.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

// The facts of every rank, [rank][fact]. Throws if a rank reports a problem, or if a fact with a name differs.
std::vector<std::vector<std::string>> agreed(const char* name, Ranks& ranks, const Facts& facts,
                                             const std::optional<std::string>& problem) {
  const auto fail = [&](const std::string& what) { throw std::invalid_argument(std::string(name) + ": " + what); };
  std::vector<std::vector<std::string>> all;
  for (const std::string& said : ranks.gather(packed(facts, problem))) {
    if (said.front() == '!') fail("rank " + std::to_string(all.size()) + ": " + said.substr(1));
    all.push_back(lines_of(said));
  }
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    for (std::size_t n = 0; n < facts.size(); ++n) {
      if (facts[n].first.empty() || all[rank][n] == all[0][n]) continue;
      fail(facts[n].first + " is " + all[rank][n] + " on rank " + std::to_string(rank) + " and " + all[0][n] +
           " on rank 0, but must be the same");
    }
  }
  return all;
}

}  // namespace

RingCall make_ring_call(const char* name, const Inputs& in, const Options& options, const Ring& ring,
                        const std::function<void()>& check) {
  std::optional<std::string> problem;
  std::optional<RingCall> call;
  Facts facts;
  try {
    const Sizes n = check_part(in, options, ring);
    check();
    call.emplace(RingCall{in, options, ring.ranks, n,
                          RingPlan(options.mask, {n.batch, n.heads, ring.queries, ring.keys}, ring.ranks.size())});
    facts = facts_of(in, options, ring);
    // What ranks send and expect must match, or they would wait forever.
    facts.emplace_back("what the mask rules out", "pattern " + call->plan.fingerprint());
    facts.emplace_back("", dense_rows(options, n.queries));
  } catch (const std::invalid_argument& wrong) {
    problem = wrong.what();
  }
  bool each = false;
  for (const std::vector<std::string>& said : agreed(name, ring.ranks, facts, problem)) {
    call->shared_dense = call->shared_dense || said.back() == "one";
    each = each || said.back() == "each";
  }
  if (call->shared_dense && each) {
    throw std::invalid_argument(std::string(name) + ": dense_bias has a row for each query on one rank and one row " +
                                "for all on another");
  }
  return *call;
}

std::vector<QuerySlice> slices_of(const RingSplit& split, int rank) {
  std::vector<QuerySlice> slices;
  std::int64_t row = 0;
  for (const Stretch& half : split.of(rank)) {
    for (std::int64_t from = half.begin; from < half.end; from += kSliceRows) {
      const std::int64_t to = std::min(half.end, from + kSliceRows);
      slices.push_back({row, {from, to}});
      row += to - from;
    }
  }
  return slices;
}

AnyView<4> rows_from(AnyView<4> view, std::int64_t row, std::int64_t count) {
  view.data =
      static_cast<const std::byte*>(view.data) + row * view.strides[2] * static_cast<std::int64_t>(size_of(view.type));
  view.shape[2] = count;
  return view;
}

Options block_options(const RingCall& call, const QuerySlice& slice, const Stretch& keys) {
  const Options& whole = call.options;
  const std::int64_t n = slice.at.size(), m = keys.size();
  Options part = whole;
  part.sink = {};
  if (!whole.mask.everything()) {
    const bool plain = call.plan.cover(slice.at, keys) == Cover::all && whole.mask.bias().empty();
    part.mask = plain ? Mask() : Mask(PartOfMask{whole.mask, slice.at, keys, call.plan.keys().length()});
  }
  if (!whole.bias.empty()) {
    part.bias.data += call.plan.queries().length() - n + keys.begin - slice.at.begin;
    part.bias.shape[1] = n + m - 1;
  }
  if (!whole.dense_bias.empty()) {
    part.dense_bias.data += keys.begin;
    part.dense_bias.shape[3] = m;
    if (!call.shared_dense && whole.dense_bias.shape[2] != 1) {
      part.dense_bias = rows_from(part.dense_bias, slice.row, n);
    }
  }
  part.dropout.first_query += slice.at.begin;
  part.dropout.first_key += keys.begin;
  return part;
}

}  // namespace attn
