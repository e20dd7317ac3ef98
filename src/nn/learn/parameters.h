// nn/learn/parameters.h - trainable parameters and their gradients.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"
#include "nn/infer/matrix.h"

namespace attn::nn {

struct Parameter {
  std::string name;                 // as in the model's files
  std::vector<std::int64_t> shape;  // one or two axes
  Matrix value, gradient;           // [shape[0], shape[1]], or [1, shape[0]]
  bool decays = false;              // whether weight decay applies: to matrices, not to biases and norms

  [[nodiscard]] std::int64_t size() const noexcept { return value.rows() * value.columns(); }
};

// Views of a parameter and its gradient: what a layer computes with.
template <std::size_t Rank>
struct Learned {
  View<float, Rank> value, gradient;  // empty: no such parameter

  [[nodiscard]] bool empty() const noexcept { return value.empty(); }
};

// Owns the parameters of a model. Their addresses never change.
class Parameters {
 public:
  Parameters() = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;
  ~Parameters() = default;

  // Adds a parameter of zeros. Throws std::invalid_argument if the name exists already or the shape is empty.
  Learned<2> matrix(std::string name, std::int64_t rows, std::int64_t columns, bool decays = true);
  Learned<1> vector(std::string name, std::int64_t size, float fill = 0);

  [[nodiscard]] std::deque<Parameter>& all() noexcept { return all_; }
  [[nodiscard]] const std::deque<Parameter>& all() const noexcept { return all_; }
  [[nodiscard]] Parameter* find(std::string_view name) noexcept;  // null: not found
  [[nodiscard]] std::int64_t count() const noexcept;              // numbers in all parameters together

  void clear_gradients(ThreadPool& pool);

 private:
  Parameter& add(std::string name, std::vector<std::int64_t> shape);

  std::deque<Parameter> all_;
};

}  // namespace attn::nn
