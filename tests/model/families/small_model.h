// tests/model/families/small_model.h - small random models, each in its own folder, that a test can break in one place.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/thread_pool.h"
#include "model/run/model.h"

namespace attn::test {

class SmallModel {
 public:
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> numbers;
  };

  SmallModel();
  ~SmallModel();
  SmallModel(SmallModel&&) noexcept = default;
  SmallModel& operator=(SmallModel&&) = delete;

  std::map<std::string, std::string> config;  // values as JSON
  std::map<std::string, Tensor> tensors;

  // Random numbers, around 1 for norms' weights.
  void add(const std::string& name, std::vector<std::int64_t> shape);
  // "<name>.weight" [out, in] and "<name>.bias" [out].
  void add_linear(const std::string& name, std::int64_t in, std::int64_t out);
  void add_norm(const std::string& name, std::int64_t width);
  // Prefix of all names.
  void rename(const std::string& from, const std::string& to);

  // Writes config.json and model.safetensors and loads them.
  [[nodiscard]] std::unique_ptr<model::Model> load() const;
  // The attn::Error message on loading; empty: none.
  [[nodiscard]] std::string load_error() const;

 private:
  std::filesystem::path folder_;
};

// Two layers of four heads, 12 wide, and a vocabulary of 20.
SmallModel small_bert(const std::string& model_type = "bert");
SmallModel small_gpt2();

// A text for models of that vocabulary.
inline const std::vector<std::int32_t> kSmallIds = {3, 14, 1, 5, 9, 2, 6};

// An invalid configuration value and the expected message.
struct RefusedConfig {
  const char *name, *value, *message;
};

// An encoder-decoder with fixed source and target ids.
class EncoderDecoderFiles : public testing::Test {
 protected:
  EncoderDecoderFiles(std::vector<std::int32_t> ids, std::vector<std::int32_t> target)
      : ids_(std::move(ids)), target_(std::move(target)) {}

  model::EncoderOutput read(const model::Model& m);
  std::vector<float> logits(const SmallModel& small);

  std::vector<std::int32_t> ids_, target_;
  ThreadPool pool_{2};
};

// Hidden states and logits as plain numbers, for comparing bits.
std::vector<float> numbers_of(const nn::Matrix& matrix);

}  // namespace attn::test
