// engine/attention/backward_checks.cc - checks the arguments of attention_backward before anything is written.
#include <stdexcept>
#include <string>

#include "attn/backward.h"
#include "engine/attention/problem.h"

namespace attn {
namespace {

[[noreturn]] void fail_backward(const std::string& what) { throw std::invalid_argument("attention_backward: " + what); }

void check_array(const char* name, const View<const float, 4>& view, const Shape<4>& right) {
  check_shape(name, view.shape, right);
  check_present(name, view.data, view.shape);
  check_dense_last(name, view.strides[3], view.shape[3]);
}

void check_lse(const char* name, const Sizes& n, const View<const float, 3>& lse) {
  check_shape(name, lse.shape, {n.batch, n.heads, n.queries});
  check_present(name, lse.data, {n.batch, n.heads, n.queries, 1});
  check_dense_last(name, lse.strides[2], n.queries);
}

void check_additions(const Options& options, const Gradients& to) {
  if (!to.d_bias.empty()) {
    if (options.bias.empty()) fail_backward("d_bias was requested, but there is no bias");
    if (to.d_bias.shape != options.bias.shape) {
      fail_backward("d_bias is [" + std::to_string(to.d_bias.shape[0]) + ", " + std::to_string(to.d_bias.shape[1]) +
                    "] but must have the shape of the bias, [" + std::to_string(options.bias.shape[0]) + ", " +
                    std::to_string(options.bias.shape[1]) + "]");
    }
    check_dense_last("d_bias", to.d_bias.strides[1], to.d_bias.shape[1]);
  }
  if (!to.d_dense_bias.empty()) {
    if (options.dense_bias.empty()) fail_backward("d_dense_bias was requested, but there is no dense bias");
    check_array("d_dense_bias", to.d_dense_bias, options.dense_bias.shape);
  }
  if (to.d_sink.empty()) return;
  if (options.sink.empty()) fail_backward("d_sink was requested, but there is no sink");
  if (to.d_sink.shape != options.sink.shape) {
    fail_backward("d_sink has " + std::to_string(to.d_sink.shape[0]) + " numbers but must have one per head, " +
                  std::to_string(options.sink.shape[0]));
  }
}

}  // namespace

void check_gradients(const Inputs& in, const Outputs& outputs, const Gradients& to) {
  const Shape<4> out{in.q.shape[0], in.q.shape[1], in.q.shape[2], in.v.shape[3]};
  check_array("out", outputs.out, out);
  check_array("d_out", outputs.d_out, out);
  check_array("dq", to.dq, in.q.shape);
  check_array("dk", to.dk, in.k.shape);
  check_array("dv", to.dv, in.v.shape);
}

Sizes check_backward(const Inputs& in, const Options& options, const Outputs& outputs, const Gradients& to) {
  const Sizes n = check_inputs(in);
  check_gradients(in, outputs, to);
  check_lse("lse", n, outputs.lse);
  if (!outputs.d_lse.empty()) check_lse("d_lse", n, outputs.d_lse);
  check_additions(options, to);
  return n;
}

}  // namespace attn
