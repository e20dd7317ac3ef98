// model/families/rope_variants.h - the variant of rotary positions that config.json selects.
#pragma once

#include <cstdint>
#include <vector>

#include "model/files/config.h"
#include "nn/infer/rope.h"

namespace attn::model {

// Variants let a model that was trained on short texts read longer ones. All of them only choose other frequencies, and
// some scale attention by a factor. Results agree with transformers to float precision; steps that transformers
// computes in float are computed in float here.
class RopeVariant {
 public:
  // Reads "rope_scaling" or "rope_parameters" (the newer name), and the keys that older files keep at the top level.
  // Throws attn::Error for an unknown variant (the message lists the known ones) and for invalid numbers.
  RopeVariant(const Config& config, std::int64_t head_width);

  // Frequencies for a sequence of `length` tokens.
  [[nodiscard]] nn::Rope at(std::int64_t length) const;

  // Rotated pairs per head; the same at any length.
  [[nodiscard]] std::int64_t pairs() const noexcept { return width_ / 2; }

  // Context length that the variant was made for, in tokens.
  [[nodiscard]] std::int64_t trained_tokens() const noexcept { return max_tokens_; }

 private:
  void read_linear(const Config& rope);
  void read_dynamic(const Config& rope);
  void read_llama3(const Config& rope);
  void read_yarn(const Config& rope);
  void read_longrope(const Config& rope);

  [[nodiscard]] std::int64_t original(const Config& rope) const;
  [[nodiscard]] double scale_of(const Config& rope) const;
  void stretch(double factor, std::int64_t length) noexcept;

  struct Kind;
  static const Kind kKinds[];

  Config config_;
  double theta_ = 10000;
  std::int64_t width_ = 0;  // rotated dimensions of a head
  std::int64_t max_tokens_ = 0;

  nn::Rope within_;            // up to limit_ tokens
  std::int64_t limit_ = 0;     // 0: at any length
  std::vector<float> beyond_;  // longrope: frequencies beyond limit_
  double growth_ = 0;          // dynamic: how fast theta grows beyond limit_
};

}  // namespace attn::model
