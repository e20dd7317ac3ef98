// model/layers.h - from stored tensors to layers, as every family needs them.
#pragma once

#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "model/weights.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace attn::model {

// Packs matrices that have the same input and gives their pages back.
nn::Linear pack(const Weights& weights, std::initializer_list<nn::Weight> parts, ThreadPool& pool);

// "<name>.weight" and "<name>.bias"; files of BERT's first years call them "<name>.gamma" and "<name>.beta".
nn::LayerNorm layer_norm(const Weights& weights, const std::string& name, std::int64_t width, double epsilon);

// A product that many who load a model never ask for: the way back to the vocabulary, a fifth of BERT-base. It is
// packed when it is first used, any number of threads may do that, and in parts whose pages are given back one after
// the other: it is the largest matrix there is, and in one piece it would decide how much memory a model takes at most.
class LazyLinear {
 public:
  LazyLinear() = default;

  // Before the first use. `weight`, [out, in], is a window on `weights`, which must live as long as this.
  void set(const Weights& weights, const nn::Weight& weight) noexcept;
  [[nodiscard]] bool empty() const noexcept { return weights_ == nullptr; }

  void operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool) const;

 private:
  void pack_parts(ThreadPool& pool) const;

  const Weights* weights_ = nullptr;
  nn::Weight weight_;
  mutable std::once_flag packed_;
  mutable std::vector<nn::Linear> parts_;  // one behind the other along the outputs
};

}  // namespace attn::model
