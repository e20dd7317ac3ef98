// engine/attention/checks.cc - checks every argument of a call before any work is done.
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/attention/problem.h"
#include "engine/runtime/number_text.h"

namespace attn {
namespace {

[[noreturn]] void fail_attention(const std::string& what) { throw std::invalid_argument("attention: " + what); }

template <std::size_t Rank>
void require_shape(const char* name, const Shape<Rank>& got, const Shape<Rank>& right) {
  if (got != right) fail_attention(std::string(name) + " is " + text_of(got) + " but must be " + text_of(right));
}

void check_input(const char* name, const AnyView<4>& view) {
  for (const auto n : view.shape) {
    if (n < 0) fail_attention(std::string(name) + " has a negative size: " + text_of(view.shape));
  }
  check_present(name, view.data, view.shape);
  check_dense_last(name, view.strides[3], view.shape[3]);
}

void check_width(const char* name, const char* letter, std::int64_t width) {
  if (width >= 1 && width <= kMaxWidth) return;
  fail_attention(std::string(letter) + ", the last axis of " + name + ", is " + std::to_string(width) +
                 " but must be from 1 to " + std::to_string(kMaxWidth));
}

// Axis sizes; an axis may also be 1, which is broadcast.
void check_broadcast(const char* name, const Shape<4>& got, const Sizes& n) {
  const Shape<4> right{n.batch, n.heads, n.queries, n.keys};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (got[axis] == right[axis] || (axis < 3 && got[axis] == 1)) continue;
    fail_attention(std::string(name) + " is " + text_of(got) + " but must be " + text_of(right) +
                   ", where any of the first three may be 1");
  }
}

void check_plan(const TilePlan& plan, const Sizes& n) {
  const Extent& e = plan.extent();
  if (e.batch == n.batch && e.heads == n.heads && e.queries == n.queries && e.keys == n.keys) return;
  fail_attention("the plan was made for B, H, N, M = " + text_of(Shape<4>{e.batch, e.heads, e.queries, e.keys}) +
                 " but the inputs have " + text_of(Shape<4>{n.batch, n.heads, n.queries, n.keys}));
}

}  // namespace

void check_present(const char* name, const void* data, const Shape<4>& shape) {
  if (data != nullptr || shape[0] * shape[1] * shape[2] * shape[3] == 0) return;
  fail_attention(std::string(name) + " is missing: its shape is " + text_of(shape) + " but its data is null");
}

void check_dense_last(const char* name, std::int64_t stride, std::int64_t length) {
  if (stride == 1 || length <= 1) return;
  fail_attention("the last axis of " + std::string(name) + " has stride " + std::to_string(stride) +
                 " but must be dense (1)");
}

void check_shape(const char* name, const Shape<4>& got, const Shape<4>& right) { require_shape(name, got, right); }
void check_shape(const char* name, const Shape<3>& got, const Shape<3>& right) { require_shape(name, got, right); }

Sizes check_keys(const Inputs& in) {
  check_input("q", in.q);
  check_input("k", in.k);
  Sizes n;
  n.batch = in.q.shape[0];
  n.heads = in.q.shape[1];
  n.queries = in.q.shape[2];
  n.width = in.q.shape[3];
  n.key_heads = in.k.shape[1];
  n.keys = in.k.shape[2];
  check_width("q", "D", n.width);
  const auto disagree = [&](const char* what) {
    fail_attention("q is " + text_of(in.q.shape) + " and k is " + text_of(in.k.shape) + ": " + what +
                   " must be the same");
  };
  if (in.k.shape[0] != n.batch) disagree("the batch (first axis)");
  if (in.k.shape[3] != n.width) disagree("the width D (last axis)");
  if (n.key_heads == 0 ? n.heads != 0 : n.heads % n.key_heads != 0) {
    fail_attention("H = " + std::to_string(n.heads) + " query heads cannot share G = " + std::to_string(n.key_heads) +
                   " key heads: H must be divisible by G");
  }
  return n;
}

Sizes check_inputs(const Inputs& in) {
  Sizes n = check_keys(in);
  check_input("v", in.v);
  n.value_width = in.v.shape[3];
  check_width("v", "E", n.value_width);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (in.v.shape[axis] == in.k.shape[axis]) continue;
    fail_attention("k is " + text_of(in.k.shape) + " and v is " + text_of(in.v.shape) +
                   ": all but the last axis must be the same");
  }
  return n;
}

void check_outputs(const Sizes& n, const View<float, 4>& out, const View<float, 3>& lse) {
  check_shape("out", out.shape, {n.batch, n.heads, n.queries, n.value_width});
  check_present("out", out.data, out.shape);
  check_dense_last("out", out.strides[3], n.value_width);
  if (lse.empty()) return;
  check_shape("lse", lse.shape, {n.batch, n.heads, n.queries});
  check_dense_last("lse", lse.strides[2], n.queries);
}

void check_options(const Options& options, const Sizes& n) {
  if (options.scale && !std::isfinite(*options.scale)) fail_attention("scale is not a finite number");
  if (!(options.softcap >= 0) || std::isinf(options.softcap)) {
    fail_attention("softcap is " + number_text(options.softcap) + " but must be a positive number, or 0 for none");
  }
  if (!(options.dropout.rate >= 0 && options.dropout.rate < 1)) {
    fail_attention("dropout rate is " + number_text(options.dropout.rate) + " but must be in [0, 1)");
  }
  if (!options.sink.empty() && options.sink.shape[0] != n.heads) {
    fail_attention("sink has " + std::to_string(options.sink.shape[0]) +
                   " logits but must have one per head, H = " + std::to_string(n.heads));
  }
  if (!options.dense_bias.empty()) {
    check_broadcast("dense_bias", options.dense_bias.shape, n);
    check_dense_last("dense_bias", options.dense_bias.strides[3], n.keys);
  }
  if (!options.bias.empty()) {
    const auto& shape = options.bias.shape;
    const std::int64_t distances = std::max<std::int64_t>(0, n.queries + n.keys - 1);
    if ((shape[0] != 1 && shape[0] != n.heads) || shape[1] != distances) {
      fail_attention("bias is " + text_of(shape) + " but must be " + text_of(Shape<2>{n.heads, distances}) +
                     ", [H, N + M - 1] (H may be 1)");
    }
    check_dense_last("bias", options.bias.strides[1], distances);
  }
  if (options.plan != nullptr) check_plan(*options.plan, n);
}

}  // namespace attn
