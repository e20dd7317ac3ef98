#include "train/learner.h"

#include <stdexcept>

#include "train/random.h"

namespace attn::train {
namespace {

constexpr double kInitialDeviation = 0.02;

void check(const Shape& shape) {
  const auto need = [](std::int64_t value, const char* name) {
    if (value >= 1) return;
    throw std::invalid_argument("a model with " + std::to_string(value) + " " + name + "; it must have at least one");
  };
  need(shape.layers, "layers");
  need(shape.heads, "heads");
  need(shape.width, "numbers a token");
  need(shape.inner_width(), "numbers in its feed-forward layers");
  need(shape.positions, "positions");
  need(shape.vocabulary, "tokens in its vocabulary");
  if (shape.width % shape.heads != 0) {
    throw std::invalid_argument("a width of " + std::to_string(shape.width) + " is not divisible by " +
                                std::to_string(shape.heads) + " heads");
  }
}

}  // namespace

std::string_view name_of(Task task) noexcept {
  switch (task) {
    case Task::lm:
      return "lm";
    case Task::mlm:
      return "mlm";
    case Task::classify:
      return "classify";
    case Task::translate:
      return "translate";
  }
  return "";
}

void Batch::add(std::span<const std::int32_t> sequence) {
  ids.insert(ids.end(), sequence.begin(), sequence.end());
  starts.push_back(std::ssize(ids));
}

void Batch::add_source(std::span<const std::int32_t> sequence) {
  source.insert(source.end(), sequence.begin(), sequence.end());
  source_starts.push_back(std::ssize(source));
}

float Learner::initial_factor(std::string_view) const { return 1; }

void Learner::initialise(std::uint64_t seed) {
  std::uint64_t stream = 0;
  for (nn::Parameter& parameter : parameters_.all()) {
    ++stream;
    if (parameter.shape.size() < 2) continue;
    Random random(seed, stream);
    const double deviation = kInitialDeviation * initial_factor(parameter.name);
    for (std::int64_t i = 0; i < parameter.size(); ++i) {
      parameter.value.data()[i] = static_cast<float>(deviation * random.normal());
    }
  }
}

std::unique_ptr<Learner> make_learner(Task task, const Shape& shape) {
  check(shape);
  switch (task) {
    case Task::lm:
      return make_gpt2(shape);
    case Task::mlm:
    case Task::classify:
      return make_bert(shape, task);
    case Task::translate:
      return make_bart(shape);
  }
  throw std::invalid_argument("no such task");
}

}  // namespace attn::train
