// attn_engine/problem.cc - where the numbers of a sequence and head lie, and in what units the kernels want them.
#include "attn_engine/problem.h"

#include <cmath>

#include "kernels/keep.h"

namespace attn {
namespace {

static_assert(static_cast<int>(Type::float32) == static_cast<int>(kernels::Element::float32));
static_assert(static_cast<int>(Type::float16) == static_cast<int>(kernels::Element::float16));
static_assert(static_cast<int>(Type::bfloat16) == static_cast<int>(kernels::Element::bfloat16));
static_assert(kMaxWidth == kernels::kMaxWidth);

kernels::Rows rows_of(const AnyView<4>& view, std::int64_t b, std::int64_t h, std::int64_t first) {
  const std::int64_t at = b * view.strides[0] + h * view.strides[1] + first * view.strides[2];
  return {static_cast<const std::byte*>(view.data) + at * static_cast<std::int64_t>(size_of(view.type)),
          view.strides[2], static_cast<kernels::Element>(view.type)};
}

kernels::Dense dense_of(const View<const float, 4>& view, std::int64_t b, std::int64_t h) {
  if (view.empty()) return {};
  return {view.at(view.shape[0] == 1 ? 0 : b, view.shape[1] == 1 ? 0 : h),
          view.shape[2] == 1 ? std::int64_t{0} : view.strides[2]};
}

}  // namespace

kernels::Rows Problem::q(const Sequence& s, std::int64_t h) const noexcept {
  return rows_of(in.q, s.batch, h, s.first_query);
}
kernels::Rows Problem::k(const Sequence& s, std::int64_t g) const noexcept {
  return rows_of(in.k, s.batch, g, s.first_key);
}
kernels::Rows Problem::v(const Sequence& s, std::int64_t g) const noexcept {
  return rows_of(in.v, s.batch, g, s.first_key);
}

kernels::Scoring Problem::scoring(const Sequence& s, std::int64_t h) const noexcept {
  kernels::Scoring how;
  how.q_scale = options->softcap > 0 ? scale / options->softcap : scale * kernels::kLog2E;
  how.softcap = options->softcap * kernels::kLog2E;
  if (!options->bias.empty()) how.bias = options->bias.at(options->bias.shape[0] == 1 ? 0 : h) + bias_centre;
  how.dense[0] = dense_of(options->dense_bias, s.number, h);
  how.dense[1] = dense_of(mask_bias, s.number, h);
  return how;
}

kernels::Keep Problem::keep(const Sequence& s, std::int64_t h) const noexcept {
  return keep_of(options->dropout, s.number, h);
}

float Problem::sink(std::int64_t h) const noexcept {
  return options->sink.empty() ? kernels::kNever : options->sink(h) * kernels::kLog2E;
}

float* Problem::out_row(const Sequence& s, std::int64_t h) const noexcept { return out.at(s.batch, h, s.first_query); }
float* Problem::lse_row(const Sequence& s, std::int64_t h) const noexcept {
  return lse.empty() ? nullptr : lse.at(s.batch, h, s.first_query);
}

kernels::Keep keep_of(const Dropout& dropout, std::int64_t b, std::int64_t h) noexcept {
  kernels::Keep keep;
  if (dropout.rate == 0) return keep;
  keep.seed = kernels::mix64(kernels::mix64(dropout.seed ^ kernels::mix64(static_cast<std::uint64_t>(b))) +
                             static_cast<std::uint64_t>(h));
  keep.threshold = static_cast<std::uint32_t>(static_cast<double>(dropout.rate) * 4294967296.0);
  keep.scale = 1 / (1 - dropout.rate);
  return keep;
}

bool dropout_keeps(const Dropout& dropout, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) noexcept {
  const kernels::Keep keep = keep_of(dropout, b, h);
  return kernels::keep_hash(kernels::keep_row_key(keep.seed, i), j) >= keep.threshold;
}

Problem make_problem(const Inputs& in, const Options& options, const Sizes& sizes) {
  Problem problem;
  problem.in = in;
  problem.options = &options;
  problem.sizes = sizes;
  problem.scale = options.scale ? *options.scale : 1 / std::sqrt(static_cast<float>(sizes.width));
  problem.bias_centre = sizes.queries - 1;
  problem.mask_bias = options.mask.bias();
  return problem;
}

void add_batch(Problem& problem, const TilePlan* plan) {
  const Sizes& n = problem.sizes;
  for (std::int64_t b = 0; b < n.batch; ++b) problem.sequences.push_back({b, b, 0, 0, n.queries, n.keys, plan, b});
}

}  // namespace attn
