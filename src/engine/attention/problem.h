// engine/attention/problem.h - a call after its checks, and the schedules that compute it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "attn/backward.h"
#include "engine/kernels/common/plain.h"

namespace attn {

struct Sizes {
  std::int64_t batch = 0, heads = 0, key_heads = 0;  // B, H, G
  std::int64_t queries = 0, keys = 0;                // N, M
  std::int64_t width = 0, value_width = 0;           // D, E

  [[nodiscard]] std::int64_t group() const noexcept { return heads / key_heads; }
};

// "[2, 8, 128, 64]"
template <std::size_t Rank>
std::string text_of(const Shape<Rank>& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < Rank; ++axis) text += (axis != 0 ? ", " : "") + std::to_string(shape[axis]);
  return text + "]";
}

// Checks of the arguments. They throw std::invalid_argument with the shapes in the message.
Sizes check_inputs(const Inputs& in);
Sizes check_keys(const Inputs& in);  // without v
void check_options(const Options& options, const Sizes& sizes);
void check_outputs(const Sizes& sizes, const View<float, 4>& out, const View<float, 3>& lse);
void check_shape(const char* name, const Shape<4>& got, const Shape<4>& right);
void check_shape(const char* name, const Shape<3>& got, const Shape<3>& right);
void check_present(const char* name, const void* data, const Shape<4>& shape);
void check_dense_last(const char* name, std::int64_t stride, std::int64_t length);
void check_gradients(const Inputs& in, const Outputs& outputs, const Gradients& to);  // all but lse, bias and sink
Sizes check_backward(const Inputs& in, const Options& options, const Outputs& outputs, const Gradients& to);

// Queries and keys that belong together: an element of the batch, or one of several sequences packed into it.
struct Sequence {
  std::int64_t batch = 0;                       // in the inputs
  std::int64_t number = 0;                      // b, for mask, bias and dropout
  std::int64_t first_query = 0, first_key = 0;  // in the inputs
  std::int64_t queries = 0, keys = 0;
  const TilePlan* plan = nullptr;
  std::int64_t plan_batch = 0;  // its b in the plan
};

// The rows of batch b and head h from `first` on.
inline kernels::Rows rows_of(const AnyView<4>& view, std::int64_t b, std::int64_t h, std::int64_t first) noexcept {
  const std::int64_t at = b * view.strides[0] + h * view.strides[1] + first * view.strides[2];
  return {static_cast<const std::byte*>(view.data) + at * static_cast<std::int64_t>(size_of(view.type)),
          view.strides[2], static_cast<kernels::Element>(view.type)};
}

// The rows from `row` on.
inline kernels::Rows from_row(kernels::Rows rows, std::int64_t row) noexcept {
  rows.data = static_cast<const std::byte*>(rows.data) + row * rows.stride * kernels::size_of(rows.type);
  return rows;
}

struct Problem {
  Inputs in;
  const Options* options = nullptr;
  Sizes sizes;
  float scale = 1;
  std::int64_t bias_centre = 0;  // the index of j - i = 0 in options->bias
  View<const float, 4> mask_bias;
  std::vector<Sequence> sequences;
  std::deque<TilePlan> plans;  // plans made for this call

  View<float, 4> out;
  View<float, 3> lse;
  View<float, 4> weights;

  [[nodiscard]] kernels::Rows q(const Sequence& s, std::int64_t h) const noexcept;
  [[nodiscard]] kernels::Rows k(const Sequence& s, std::int64_t g) const noexcept;
  [[nodiscard]] kernels::Rows v(const Sequence& s, std::int64_t g) const noexcept;
  [[nodiscard]] kernels::Scoring scoring(const Sequence& s, std::int64_t h) const noexcept;
  [[nodiscard]] kernels::DropoutHash dropout(const Sequence& s, std::int64_t h) const noexcept;
  [[nodiscard]] float sink(std::int64_t h) const noexcept;  // in units of log 2; -inf: none
  [[nodiscard]] float* out_row(const Sequence& s, std::int64_t h) const noexcept;
  [[nodiscard]] float* lse_row(const Sequence& s, std::int64_t h) const noexcept;  // null: not wanted
};

kernels::DropoutHash dropout_of(const Dropout& dropout, std::int64_t b, std::int64_t h) noexcept;

// Fills in everything except the sequences and the outputs. Keeps a pointer to the options.
Problem make_problem(const Inputs& in, const Options& options, const Sizes& sizes);
// Adds the elements of the batch as sequences, all with this plan.
void add_batch(Problem& problem, const TilePlan* plan);
// Fills in everything except the outputs. Uses the options' plan, or makes one. The options must be checked already.
Problem batch_problem(const Inputs& in, const Options& options, const Sizes& sizes);
// The same for the packed sequences that have queries. Checks the packing, and the options against it.
Problem packed_problem(const Inputs& in, const Options& options, const Packing& packing, const Sizes& sizes);

// Plans the visits of rows [first, first + rows) of a head to keys in [key_begin, key_end), which are multiples of
// kTileKeys or the end. All rows of tiles visit one stretch of `stretch` keys before the next, so that a stretch of K
// and V stays in the L2 cache.
struct BlockOfRows {
  const Sequence* sequence = nullptr;
  std::int64_t head = 0;
  std::int64_t first = 0, rows = 0;
  std::int64_t key_begin = 0, key_end = 0;
  std::int64_t stretch = 0;
};
struct Workspace;
void plan_visits(const BlockOfRows& block, Workspace& work);

inline constexpr std::int64_t kPackTile = 512;  // keys packed per task

// Sets all rows to 0.
void write_zeros(const View<float, 4>& to);

// The schedules: how a problem is divided into tasks.
void run_forward(const Problem& problem, ThreadPool& pool);  // blocks of queries
bool wants_split(const Problem& problem) noexcept;           // few queries, many keys
void run_split(const Problem& problem, ThreadPool& pool);    // parts of the keys, merged through lse

}  // namespace attn
