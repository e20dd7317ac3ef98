#include "nn/learn/parameters.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "nn/infer/split.h"

namespace attn::nn {

Parameter& Parameters::add(std::string name, std::vector<std::int64_t> shape) {
  if (find(name) != nullptr) throw std::invalid_argument("Parameters: duplicate name \"" + name + "\"");
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 1; })) {
    std::string text = std::to_string(shape.front());
    if (shape.size() == 2) text += " x " + std::to_string(shape.back());
    throw std::invalid_argument("Parameters: \"" + name + "\" would be " + text + "; it must not be empty");
  }
  const std::int64_t rows = shape.size() == 1 ? 1 : shape.front();
  const std::int64_t columns = shape.back();
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.shape = std::move(shape);
  parameter.value = Matrix(rows, columns);
  parameter.gradient = Matrix(rows, columns);
  std::fill_n(parameter.value.data(), rows * columns, 0.0F);
  std::fill_n(parameter.gradient.data(), rows * columns, 0.0F);
  return all_.emplace_back(std::move(parameter));
}

Learned<2> Parameters::matrix(std::string name, std::int64_t rows, std::int64_t columns, bool decays) {
  Parameter& parameter = add(std::move(name), {rows, columns});
  parameter.decays = decays;
  return {parameter.value.view(), parameter.gradient.view()};
}

Learned<1> Parameters::vector(std::string name, std::int64_t size, float fill) {
  Parameter& parameter = add(std::move(name), {size});
  std::fill_n(parameter.value.data(), size, fill);
  return {{parameter.value.data(), {size}}, {parameter.gradient.data(), {size}}};
}

Parameter* Parameters::find(std::string_view name) noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Parameter& p) { return p.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

std::int64_t Parameters::count() const noexcept {
  std::int64_t sum = 0;
  for (const Parameter& p : all_) sum += p.size();
  return sum;
}

void Parameters::clear_gradients(ThreadPool& pool) {
  for (Parameter& p : all_) {
    split_rows(p.gradient.rows(), p.gradient.columns(), pool, [&](std::int64_t first, std::int64_t count) {
      std::fill_n(p.gradient.row(first), count * p.gradient.columns(), 0.0F);
    });
  }
}

}  // namespace attn::nn
