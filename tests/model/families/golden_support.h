// tests/model/families/golden_support.h - loads and runs tests/golden/models; make_models.py there describes the files.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "model/files/safetensors.h"
#include "model/recording/attention_log.h"
#include "model/run/cache.h"
#include "model/run/model.h"

namespace attn::test {

inline constexpr float kAttentionTolerance = 2e-5F;
inline constexpr float kTolerance = 1e-4F;  // of hidden states and logits
inline constexpr model::Keep kKeepEverything{.values = true, .inputs = true, .value_norms = true, .hidden = true};

// A file of expected numbers.
class Expected {
 public:
  struct Table {
    std::vector<std::int64_t> shape;
    std::vector<float> numbers;
  };

  explicit Expected(const std::filesystem::path& file) : file_(model::SafeTensors::open(file)) {}

  [[nodiscard]] bool has(const std::string& name) const { return file_.tensors().contains(name); }
  // Throw std::runtime_error if the table is missing or has another type.
  [[nodiscard]] std::vector<std::int32_t> integers(const std::string& name) const;
  [[nodiscard]] Table table(const std::string& name) const;

  // Texts are stored as metadata.
  [[nodiscard]] bool has_text(const std::string& name) const { return file_.metadata().contains(name); }
  [[nodiscard]] const std::string& text(const std::string& name) const { return file_.metadata().at(name); }

 private:
  [[nodiscard]] const model::StoredTensor& find(const std::string& name, model::Dtype dtype) const;
  model::SafeTensors file_;
};

struct ModelCase {
  std::string name;
  std::vector<std::int32_t> ids, types;
  std::vector<std::int32_t> decoder_ids;  // empty: not an encoder-decoder
};

struct Prompt {
  std::vector<std::int32_t> ids, continuation;
};

// One folder of tests/golden/models.
class GoldenModel {
 public:
  explicit GoldenModel(const std::string& name);

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] const Expected& expected() const noexcept { return expected_; }
  [[nodiscard]] const std::vector<ModelCase>& cases() const noexcept { return cases_; }
  [[nodiscard]] std::vector<Prompt> prompts() const;
  [[nodiscard]] std::unique_ptr<model::Model> load() const { return model::load_model(folder_); }

 private:
  std::filesystem::path folder_;
  Expected expected_;
  std::vector<ModelCase> cases_;
};

// Folder names; only_decoding: those with a decoder.
std::vector<std::string> golden_model_names(bool only_decoding = false);

// The model's name in characters that gtest accepts.
std::string model_test_name(const testing::TestParamInfo<std::string>& info);

// The results of one pass through a model.
struct Outcome {
  model::AttentionLog log{{.hidden = true}};
  nn::Matrix hidden;          // of the encoder, or of the only stack
  nn::Matrix decoder_hidden;  // of an encoder-decoder's decoder
  std::vector<std::int64_t> starts, decoder_starts;

  // Input of the language-model head.
  [[nodiscard]] const nn::Matrix& last() const noexcept { return decoder_hidden.empty() ? hidden : decoder_hidden; }
  [[nodiscard]] const std::vector<std::int64_t>& last_starts() const noexcept {
    return decoder_hidden.empty() ? starts : decoder_starts;
  }
};

Outcome run_batch(const model::Model& model, const std::vector<ModelCase>& cases, ThreadPool& pool);
Outcome run_alone(const model::Model& model, const ModelCase& one, ThreadPool& pool);
// Runs with a cache, a few tokens at a time.
Outcome run_in_pieces(const model::Model& model, const ModelCase& one, ThreadPool& pool);

// Compares all stored values of a case with sequence number `sequence` of a run.
struct Place {
  const Outcome& run;
  std::int64_t sequence = 0;
};
void expect_as_written(const Expected& expected, const ModelCase& one, const Place& place, const model::Model& model,
                       ThreadPool& pool);

// Rows of a matrix, concatenated.
nn::Matrix gather(const nn::Matrix& from, std::int64_t first, const std::vector<std::int32_t>& rows);

// The largest difference and where it is; a NaN anywhere counts as infinite.
struct Worst {
  float off = 0;
  std::string where;
  void see(float got, float wanted, std::string_view what, std::initializer_list<std::int64_t> index);
};

}  // namespace attn::test
