// model/families/rope_variants.h - the rotary positions that a configuration asks for.
#pragma once

#include <cstdint>
#include <vector>

#include "model/files/config.h"
#include "nn/infer/rope.h"

namespace attn::model {

// How models trained on short texts read longer ones: all of them only choose other frequencies, and some a factor.
// Numbers agree with transformers' to float's precision, so the steps that it makes in float are made in float.
class RopeVariant {
 public:
  // Reads "rope_scaling" or "rope_parameters" (the newer name), and what older files keep beside them. Throws
  // attn::Error for a kind that is not known (the message names the known ones) and for numbers that make no sense.
  RopeVariant(const Config& config, std::int64_t head_width);

  // For a sequence of this many tokens.
  [[nodiscard]] nn::Rope at(std::int64_t length) const;

  // Pairs of a head that turn, at any length.
  [[nodiscard]] std::int64_t pairs() const noexcept { return width_ / 2; }

  // How long a text the variant was made for.
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
  std::int64_t width_ = 0;  // of the part of a head that turns
  std::int64_t max_tokens_ = 0;

  nn::Rope within_;            // up to limit_ tokens
  std::int64_t limit_ = 0;     // 0: at any length
  std::vector<float> beyond_;  // longrope: the frequencies beyond it
  double growth_ = 0;          // dynamic: how fast theta grows beyond it
};

}  // namespace attn::model
