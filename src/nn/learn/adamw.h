// nn/learn/adamw.h - the optimiser: AdamW (Loshchilov and Hutter: Decoupled Weight Decay Regularization, ICLR 2019),
// clipping by the norm of all gradients, warm-up and cosine decay.
#pragma once

#include <cstdint>
#include <deque>

#include "attn/thread_pool.h"
#include "nn/infer/matrix.h"
#include "nn/learn/parameters.h"

namespace attn::nn {

struct AdamWOptions {
  float beta1 = 0.9F, beta2 = 0.999F;
  float epsilon = 1e-8F;
  float decay = 0.01F;  // weight decay, for parameters with Parameter::decays
};

// AdamW as torch.optim.AdamW computes it.
class AdamW {
 public:
  AdamW(const Parameters& parameters, const AdamWOptions& options);

  // One step with the current gradients, each times `scale`: 1, or the result of clip_scale().
  void step(Parameters& parameters, float rate, float scale, ThreadPool& pool);

  // The state that persists from step to step, in the order of the parameters.
  struct Moments {
    Matrix first, second;  // the moments, of the shape of the parameter
  };
  [[nodiscard]] std::deque<Moments>& moments() noexcept { return moments_; }
  [[nodiscard]] const std::deque<Moments>& moments() const noexcept { return moments_; }
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

 private:
  AdamWOptions options_;
  std::deque<Moments> moments_;
  std::int64_t steps_ = 0;
};

// The norm of all gradients together. Summed in double, in pieces that depend on the shapes alone: the same bits for
// any number of threads. NaN or infinity if any gradient is.
double gradient_norm(const Parameters& parameters, ThreadPool& pool);

// The factor that limits gradients of this norm to the norm `most`; 1 if most <= 0.
float clip_scale(double norm, double most) noexcept;

// The learning rate rises linearly to `peak` over `warmup` steps, then falls as a cosine to `floor` times peak at the
// end.
struct Schedule {
  double peak = 1e-3;
  std::int64_t warmup = 0, steps = 1;
  double floor = 0.1;

  [[nodiscard]] double rate(std::int64_t step) const noexcept;  // step counts from 0
};

}  // namespace attn::nn
