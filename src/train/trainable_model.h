// train/trainable_model.h - trainable models: GPT-2, BERT with one of two heads, BART. Parameters have the names of
// their Hugging Face files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nn/learn/loss.h"
#include "nn/learn/parameters.h"
#include "nn/learn/pass.h"

namespace attn::train {

enum class Task : std::uint8_t { lm, mlm, classify, translate };
std::string_view name_of(Task task) noexcept;

// Size of a model. Ids of special tokens are those of text::Scheme.
struct ModelSize {
  std::int64_t layers = 4;  // of the encoder and of the decoder, if there are both
  std::int64_t heads = 4;
  std::int64_t width = 128;
  std::int64_t inner = 0;      // of the feed-forward; 0: four times width
  std::int64_t positions = 0;  // maximum sequence length
  std::int64_t vocabulary = 0;
  std::vector<std::string> labels;  // Task::classify
  float dropout = 0;                // of embeddings, layer outputs and attention weights

  [[nodiscard]] std::int64_t inner_width() const noexcept { return inner == 0 ? 4 * width : inner; }
};

// Concatenated sequences, and their labels.
struct TrainingBatch {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int32_t> labels;  // one per token (nn::kNoLabel: none); for classification, one per sequence
  std::vector<std::int32_t> source;  // encoder input of an encoder-decoder; ids are then the decoder's input
  std::vector<std::int64_t> source_starts = {0};

  void add(std::span<const std::int32_t> sequence);
  void add_source(std::span<const std::int32_t> sequence);
  [[nodiscard]] std::int64_t tokens() const noexcept { return std::ssize(ids) + std::ssize(source); }
};

class TrainableModel {
 public:
  explicit TrainableModel(const ModelSize& shape) : shape_(shape) {}
  virtual ~TrainableModel() = default;
  TrainableModel(const TrainableModel&) = delete;
  TrainableModel& operator=(const TrainableModel&) = delete;

  [[nodiscard]] nn::Parameters& parameters() noexcept { return parameters_; }
  [[nodiscard]] const nn::Parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const ModelSize& shape() const noexcept { return shape_; }

  // The batch's loss. With `learn`, adds the gradients of its mean to the parameters' gradients.
  virtual nn::Loss run(const TrainingBatch& batch, bool learn, const nn::LearnPass& pass) = 0;

  // config.json in transformers' format.
  [[nodiscard]] virtual std::string config() const = 0;

  // Sets initial weights. Word embeddings are normal with deviation 0.02, as in the families' own implementations.
  // Matrices between layers are scaled so that their outputs are as large as in a wide model (0.02 at 768 inputs).
  // Position embeddings are sines as large as the words: a head then finds a neighbour in hundreds of steps instead of
  // thousands. Biases are 0, norms 1.
  void initialise(std::uint64_t seed);

 protected:
  // What a matrix is for, and the standard deviation of its initial values.
  struct Beginning {
    bool positions = false;
    std::int64_t first_position = 0;  // rows before it are never used
    double deviation = 0;
  };
  [[nodiscard]] virtual Beginning beginning(const nn::Parameter& parameter) const = 0;
  static constexpr double kTableDeviation = 0.02;
  static double deviation_of(std::int64_t inputs) noexcept;  // for a matrix between layers

  ModelSize shape_;
  nn::Parameters parameters_;
};

// Throw std::invalid_argument if width is not divisible by heads, or a size is below 1.
std::unique_ptr<TrainableModel> make_gpt2(const ModelSize& shape);
std::unique_ptr<TrainableModel> make_bert(const ModelSize& shape, Task head);  // Task::mlm or Task::classify
std::unique_ptr<TrainableModel> make_bart(const ModelSize& shape);
std::unique_ptr<TrainableModel> make_trainable(Task task, const ModelSize& shape);

}  // namespace attn::train
