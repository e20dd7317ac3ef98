// train/trainable_model.h - models while they learn: GPT-2, BERT with one of two heads, BART; parameters have the names
// of their Hugging Face files.
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

// What a model is made of. Ids of special tokens are those of text::Scheme.
struct ModelSize {
  std::int64_t layers = 4;  // of the encoder and of the decoder, where there are both
  std::int64_t heads = 4;
  std::int64_t width = 128;
  std::int64_t inner = 0;      // of the feed-forward; 0: four times width
  std::int64_t positions = 0;  // the longest sequence
  std::int64_t vocabulary = 0;
  std::vector<std::string> labels;  // Task::classify
  float dropout = 0;                // of embeddings, of what layers give, and of attention's weights

  [[nodiscard]] std::int64_t inner_width() const noexcept { return inner == 0 ? 4 * width : inner; }
};

// Sequences one behind the other, and what should be said.
struct TrainingBatch {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int32_t> labels;  // one a token (nn::kNoLabel: none), or, to be classified, one a sequence
  std::vector<std::int32_t> source;  // what an encoder-decoder reads; ids are then what its decoder is given
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

  // The batch's loss; with `learn`, gradients of its mean are added to the parameters'.
  virtual nn::Loss run(const TrainingBatch& batch, bool learn, const nn::LearnPass& pass) = 0;

  // config.json, as transformers writes and reads it.
  [[nodiscard]] virtual std::string config() const = 0;

  // Where learning begins. Tables of words are normal numbers of deviation 0.02, as the families' own implementations
  // begin. Matrices between layers are those of a wide model (0.02 at 768 inputs) in the sense that what comes out of
  // them is as large. Tables of positions are sines, as large as the words: a head then finds a neighbour in hundreds
  // of steps instead of thousands. Biases are 0, norms 1.
  void initialise(std::uint64_t seed);

 protected:
  // What a matrix is for, and the deviation of its first numbers.
  struct Beginning {
    bool positions = false;
    std::int64_t first_position = 0;  // rows before it are never used
    double deviation = 0;
  };
  [[nodiscard]] virtual Beginning beginning(const nn::Parameter& parameter) const = 0;
  static constexpr double kTableDeviation = 0.02;
  static double deviation_of(std::int64_t inputs) noexcept;  // of a matrix between layers

  ModelSize shape_;
  nn::Parameters parameters_;
};

// Throw std::invalid_argument if width is not divisible by heads, or a number is below 1.
std::unique_ptr<TrainableModel> make_gpt2(const ModelSize& shape);
std::unique_ptr<TrainableModel> make_bert(const ModelSize& shape, Task head);  // Task::mlm or Task::classify
std::unique_ptr<TrainableModel> make_bart(const ModelSize& shape);
std::unique_ptr<TrainableModel> make_trainable(Task task, const ModelSize& shape);

}  // namespace attn::train
