// engine/linear/linear_backward.cc - gradients of linear attention: a key head and its query heads are one task.
#include "engine/kernels/linear/linear_backward.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "attn/backward.h"
#include "engine/attention/problem.h"
#include "engine/runtime/number_text.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

[[noreturn]] void fail_linear_backward(const std::string& what) {
  throw std::invalid_argument("linear_backward: " + what);
}

void check_linear_backward(const Sizes& n, const LinearOptions& options, const Gradients& to) {
  if (options.causal && n.queries != n.keys) {
    fail_linear_backward("causal needs as many queries as keys, but N = " + std::to_string(n.queries) +
                         " and M = " + std::to_string(n.keys));
  }
  if (!(options.epsilon >= 0) || std::isinf(options.epsilon)) {
    fail_linear_backward("epsilon is " + number_text(options.epsilon) + " but must be a finite number, at least 0");
  }
  if (options.map != nullptr) {
    fail_linear_backward(
        "a feature map of the caller has no derivative here; pass phi(q) and phi(k) with Feature::identity");
  }
  if (!options.state.s.empty() || !options.state.z.empty())
    fail_linear_backward("a state is not supported: gradients end at its keys");
  if (!to.d_bias.empty() || !to.d_sink.empty()) fail_linear_backward("linear attention has neither a bias nor a sink");
}

kernels::LinearBackward linear_backward_task(const Problem& p, const LinearOptions& options, const Outputs& outputs,
                                             const Sequence& s, std::int64_t g) {
  const std::int64_t h = g * p.sizes.group();
  kernels::LinearBackward t;
  t.q = p.q(s, h);
  t.k = p.k(s, g);
  t.v = p.v(s, g);
  t.out = {outputs.out.at(s.batch, h), outputs.out.strides[2], kernels::Element::float32};
  t.d_out = {outputs.d_out.at(s.batch, h), outputs.d_out.strides[2], kernels::Element::float32};
  t.q_head = p.in.q.strides[1];
  t.out_head = outputs.out.strides[1];
  t.d_out_head = outputs.d_out.strides[1];
  t.heads = p.sizes.group();
  t.queries = p.sizes.queries;
  t.keys = p.sizes.keys;
  t.widths = {p.sizes.width, p.sizes.value_width};
  t.phi = static_cast<kernels::Phi>(options.feature);
  t.epsilon = options.epsilon;
  t.causal = options.causal;
  return t;
}

kernels::GradientRows gradient_rows(const View<float, 4>& view, std::int64_t b, std::int64_t h) {
  return {view.at(b, h), view.strides[2], view.strides[1]};
}

}  // namespace

void linear_backward(const Inputs& in, const LinearOptions& options, const Outputs& outputs, const Gradients& to,
                     ThreadPool& pool) {
  const Sizes n = check_inputs(in);
  check_linear_backward(n, options, to);
  check_gradients(in, outputs, to);
  const Options none;
  Problem p = make_problem(in, none, n);
  add_batch(p, nullptr);
  pool.run(n.batch * n.key_heads, [&](std::int64_t unit, int) {
    const Sequence& s = p.sequences[static_cast<std::size_t>(unit / n.key_heads)];
    const std::int64_t g = unit % n.key_heads;
    Workspace& work = Workspace::mine();
    kernels::LinearBackward t = linear_backward_task(p, options, outputs, s, g);
    t.dq = gradient_rows(to.dq, s.batch, g * n.group());
    t.dk = gradient_rows(to.dk, s.batch, g);
    t.dv = gradient_rows(to.dv, s.batch, g);
    t.terms = work.values.reserve(2 * n.group() * n.queries);
    t.scratch = work.kernel.reserve(kernels::linear_backward_scratch(t.widths));
    kernels::linear_backward(t);
    work.release();
  });
}

}  // namespace attn
