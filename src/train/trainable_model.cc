#include "train/trainable_model.h"

#include <cmath>
#include <stdexcept>

#include "nn/learn/attention_layer.h"
#include "nn/learn/stack.h"
#include "train/training_random.h"

namespace attn::train {
namespace {

void check_model_shape(const ModelSize& shape) {
  const auto need = [](std::int64_t value, const char* name) {
    if (value >= 1) return;
    throw std::invalid_argument("the model has " + std::to_string(value) + " " + name + "; it needs at least one");
  };
  need(shape.layers, "layers");
  need(shape.heads, "heads");
  need(shape.width, "numbers per token");
  need(shape.inner_width(), "numbers in its feed-forward layers");
  need(shape.positions, "positions");
  need(shape.vocabulary, "tokens in its vocabulary");
  static_cast<void>(nn::AttentionConfig{.width = shape.width, .heads = shape.heads}.head_width());
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

void TrainingBatch::add(std::span<const std::int32_t> sequence) {
  ids.insert(ids.end(), sequence.begin(), sequence.end());
  starts.push_back(std::ssize(ids));
}

void TrainingBatch::add_source(std::span<const std::int32_t> sequence) {
  source.insert(source.end(), sequence.begin(), sequence.end());
  source_starts.push_back(std::ssize(source));
}

double TrainableModel::deviation_of(std::int64_t inputs) noexcept {
  constexpr double kWide = 768;
  return kTableDeviation * std::sqrt(kWide / static_cast<double>(inputs));
}

void TrainableModel::initialise(std::uint64_t seed) {
  std::uint64_t stream = 0;
  for (nn::Parameter& parameter : parameters_.all()) {
    ++stream;
    if (parameter.shape.size() < 2) continue;
    const Beginning begin = beginning(parameter);
    if (begin.positions) {
      const std::int64_t rows = parameter.shape[0] - begin.first_position;
      const nn::Matrix sines = nn::sinusoidal(rows, parameter.shape[1]);
      // A sine has a standard deviation of 1 / sqrt(2).
      const float factor = static_cast<float>(begin.deviation * std::sqrt(2.0));
      float* const to = parameter.value.row(begin.first_position);
      for (std::int64_t i = 0; i < rows * parameter.shape[1]; ++i) to[i] = factor * sines.data()[i];
      continue;
    }
    Random random(seed, stream);
    for (std::int64_t i = 0; i < parameter.size(); ++i) {
      parameter.value.data()[i] = static_cast<float>(begin.deviation * random.normal());
    }
  }
}

std::unique_ptr<TrainableModel> make_trainable(Task task, const ModelSize& shape) {
  check_model_shape(shape);
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
