#include "nn/learn/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/kernels/rows/training.h"

namespace attn::nn {
namespace {

constexpr std::int64_t kPiece = std::int64_t{32} << 10;  // numbers per task

// A stretch of one parameter.
struct ParameterPiece {
  std::size_t parameter = 0;
  std::int64_t first = 0, count = 0;
};

// The stretches depend on the shapes alone.
std::vector<ParameterPiece> pieces_of(const Parameters& parameters) {
  std::vector<ParameterPiece> pieces;
  for (std::size_t n = 0; n < parameters.all().size(); ++n) {
    const std::int64_t size = parameters.all()[n].size();
    for (std::int64_t first = 0; first < size; first += kPiece)
      pieces.push_back({n, first, std::min(kPiece, size - first)});
  }
  return pieces;
}

void check_moments(const Parameters& parameters, const std::deque<AdamW::Moments>& moments) {
  bool alike = parameters.all().size() == moments.size();
  for (std::size_t n = 0; alike && n < moments.size(); ++n) {
    const Matrix& value = parameters.all()[n].value;
    alike = moments[n].first.rows() == value.rows() && moments[n].first.columns() == value.columns();
  }
  if (!alike) throw std::invalid_argument("AdamW: these are not the parameters it was constructed with");
}

}  // namespace

AdamW::AdamW(const Parameters& parameters, const AdamWOptions& options) : options_(options) {
  for (const Parameter& p : parameters.all()) {
    Moments& m = moments_.emplace_back();
    for (Matrix* matrix : {&m.first, &m.second}) {
      *matrix = Matrix(p.value.rows(), p.value.columns());
      std::fill_n(matrix->data(), p.size(), 0.0F);
    }
  }
}

void AdamW::step(Parameters& parameters, float rate, float scale, ThreadPool& pool) {
  check_moments(parameters, moments_);
  ++steps_;
  const auto passed = static_cast<double>(steps_);
  const double beta1 = static_cast<double>(options_.beta1), beta2 = static_cast<double>(options_.beta2);
  kernels::Update all;
  all.scale = scale;
  all.beta2 = options_.beta2;
  all.fresh1 = static_cast<float>(1 - beta1);
  all.fresh2 = static_cast<float>(1 - beta2);
  all.root = static_cast<float>(std::sqrt(1 - std::pow(beta2, passed)));
  all.epsilon = options_.epsilon;
  all.rate = static_cast<float>(static_cast<double>(rate) / (1 - std::pow(beta1, passed)));
  const auto shrink = static_cast<float>(1 - static_cast<double>(rate) * static_cast<double>(options_.decay));
  const std::vector<ParameterPiece> pieces = pieces_of(parameters);
  pool.run(std::ssize(pieces), [&](std::int64_t t, int) {
    const ParameterPiece& piece = pieces[static_cast<std::size_t>(t)];
    Parameter& p = parameters.all()[piece.parameter];
    Moments& m = moments_[piece.parameter];
    kernels::Update task = all;
    task.value = p.value.data() + piece.first;
    task.gradient = p.gradient.data() + piece.first;
    task.first = m.first.data() + piece.first;
    task.second = m.second.data() + piece.first;
    task.count = piece.count;
    task.shrink = p.decays ? shrink : 1;
    kernels::update(task);
  });
}

double gradient_norm(const Parameters& parameters, ThreadPool& pool) {
  const std::vector<ParameterPiece> pieces = pieces_of(parameters);
  std::vector<double> sums(pieces.size());
  pool.run(std::ssize(pieces), [&](std::int64_t t, int) {
    const ParameterPiece& piece = pieces[static_cast<std::size_t>(t)];
    const float* gradient = parameters.all()[piece.parameter].gradient.data();
    sums[static_cast<std::size_t>(t)] = kernels::sum_of_squares(gradient + piece.first, piece.count);
  });
  double sum = 0;
  for (const double s : sums) sum += s;
  return std::sqrt(sum);
}

float clip_scale(double norm, double most) noexcept {
  // As torch.nn.utils.clip_grad_norm_ does: the 1e-6 keeps rounding from enlarging a norm just above `most`.
  return most <= 0 ? 1.0F : static_cast<float>(std::min(1.0, most / (norm + 1e-6)));
}

double Schedule::rate(std::int64_t step) const noexcept {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const std::int64_t falling = std::max<std::int64_t>(steps - 1 - warmup, 1);
  const double passed = std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(falling));
  return peak * (floor + (1 - floor) * (1 + std::cos(std::numbers::pi * passed)) / 2);
}

}  // namespace attn::nn
