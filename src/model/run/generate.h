// model/run/generate.h - generates text token by token, and ranks words for gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/run/model.h"

namespace attn::model {

// temperature 0: always the likeliest. top_k 0: no limit. Applied in transformers' order: temperature, top_k, top_p.
struct Sampling {
  double temperature = 0;
  std::int64_t top_k = 0;
  double top_p = 1;
  std::uint64_t seed = 0;
};

struct Generation {
  std::int64_t tokens = 20;  // maximum; generation ends earlier at an end-of-sequence token or the last position
  Sampling sampling = {};
  // Called before each token is chosen, with the model's logits before any rule or limit.
  std::function<void(std::span<const float> logits)> on_logits = {};
};

// Continues the prompt (decoder), or responds to it (encoder-decoder: the encoder reads the prompt, and the decoder
// begins with its start token). Calls on_token for every new token, including the last one (which may be
// end-of-sequence); returning false stops. Returns the new ids. The same seed gives the same text on every machine and
// for any number of threads. A recording grows with every token but the last, which no pass has read. With pass.cache a
// decoder continues where that cache ends; with pass.memory the encoder does not run again.
std::vector<std::int32_t> generate(const Model& model, std::span<const std::int32_t> prompt, const Generation& how,
                                   const Pass& pass, const std::function<bool(std::int32_t)>& on_token = {});

struct Choice {
  std::int32_t id = 0;
  double probability = 0;
};

// The ids that a sampler draws from, ascending, with probabilities that sum to 1. At temperature 0 that is the
// likeliest id, the first among ties. Ids tied with the top_k-th stay, so there may be more than top_k. Throws
// std::invalid_argument for a temperature below 0, top_k below 0 and top_p outside (0, 1], and std::runtime_error for
// logits that are NaN or have no finite maximum.
std::vector<Choice> candidates(std::span<const float> logits, const Sampling& how);

// Chooses the next id from logits. Draws with SplitMix64 from the seed: one number per call, none at temperature 0.
// Throws as candidates() does.
class Sampler {
 public:
  explicit Sampler(const Sampling& how);
  std::int32_t operator()(std::span<const float> logits);

 private:
  Sampling how_;
  std::uint64_t state_;
};

// The likeliest ids of a row of logits with their probabilities (softmax over the whole row, in double precision), in
// descending order; ties by id.
std::vector<Choice> likeliest(std::span<const float> logits, std::int64_t count);

}  // namespace attn::model
