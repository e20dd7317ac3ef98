// nn/infer/linear.h - linear layers with constant weights, packed once into the order in which the kernel reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/infer/activation.h"
#include "nn/infer/matrix.h"

namespace attn::nn {

// One weight matrix, as files hold it.
struct Weight {
  AnyView<2> matrix;         // [out, in]; or [in, out], as GPT-2 stores it: see input_first
  AnyView<1> bias = {};      // [out]; empty: none
  bool input_first = false;  // matrix is [in, out]
};

// What is applied to a product before it is written: y = f(x W^T + bias) + add.
struct After {
  Activation activation = Activation::none;
  View<const float, 2> add = {};  // of the shape of y; may be y itself; empty: nothing
};

// Called for each part of a matrix that is no longer needed.
using OnPacked = std::function<void(const Weight&)>;

// Several matrices that are applied to the same input (Q, K and V; gate and up) are packed together and computed by one
// call. 16-bit weights stay 16-bit; sums are in float.
class Linear {
 public:
  Linear() noexcept;
  // Packs the matrices, which are not needed afterwards. Throws std::invalid_argument if shapes disagree.
  Linear(std::span<const Weight> weights, ThreadPool& pool);
  Linear(std::initializer_list<Weight> weights, ThreadPool& pool)
      : Linear(std::span<const Weight>(weights.begin(), weights.size()), pool) {}
  // Uses the matrices in place, which saves memory and time if the layer is used once. The second use packs them; the
  // bits stay the same. The matrices must live until then.
  Linear(std::span<const Weight> weights, OnPacked on_packed);
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

  // outs[w] [N, out of matrix w] = after(x W_w^T + bias_w), x [N, in]. The bits of a row depend on that row alone, not
  // on N or the number of threads. outs must not overlap x. Throws std::invalid_argument before writing if shapes
  // disagree.
  void operator()(View<const float, 2> x, std::span<const View<float, 2>> outs, ThreadPool& pool,
                  const After& after = {}) const;
  void operator()(View<const float, 2> x, std::initializer_list<View<float, 2>> outs, ThreadPool& pool) const {
    (*this)(x, std::span<const View<float, 2>>(outs.begin(), outs.size()), pool);
  }
  void operator()(View<const float, 2> x, View<float, 2> out, ThreadPool& pool, const After& after = {}) const {
    (*this)(x, std::span<const View<float, 2>>(&out, 1), pool, after);
  }

  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }
  [[nodiscard]] std::int64_t inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::int64_t outputs(std::size_t w = 0) const noexcept { return pieces_[w].outputs; }

 private:
  struct Pending;  // matrices that are not packed yet
  struct Piece {
    std::int64_t outputs = 0;
    std::int64_t first_panel = 0;  // among the panels of all pieces
    std::vector<float> bias;       // empty: none
  };
  std::int64_t inputs_ = 0;
  Type type_ = Type::float32;
  std::vector<Piece> pieces_;
  AlignedMemory panels_;              // empty if the matrices are or were pending
  std::unique_ptr<Pending> pending_;  // null: packed from the start

  void lay_out(std::span<const Weight> weights);
  [[nodiscard]] AlignedMemory pack(std::span<const Weight> weights, const OnPacked& on_packed, ThreadPool& pool) const;
  [[nodiscard]] const std::byte* panels_for_call(ThreadPool& pool) const;
};

}  // namespace attn::nn
