// model/run/generate.h - text a token at a time, and words for gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/run/model.h"

namespace attn::model {

// temperature 0: always the likeliest. top_k 0: no limit. As transformers does it: temperature, then top_k, then top_p.
struct Sampling {
  double temperature = 0;
  std::int64_t top_k = 0;
  double top_p = 1;
  std::uint64_t seed = 0;
};

struct Generation {
  std::int64_t tokens = 20;  // at most; ends earlier at an end-of-sequence token, or where positions end
  Sampling sampling = {};
  // Called before each token is chosen, with what the model says of it: before any rule or limit.
  std::function<void(std::span<const float> logits)> on_logits = {};
};

// Continues prompt (decoder), or answers it (encoder-decoder: the encoder reads the prompt, and the decoder begins with
// its start token). Calls on_token for every new token, the last one (perhaps end-of-sequence) included; false from it
// stops. Returns the new ids. The same seed gives the same text on every machine and for any number of threads.
// A recording grows with every token but the last, which nobody has read yet. With pass.cache a decoder goes on where
// that cache ends; with pass.memory the encoder is not asked again.
std::vector<std::int32_t> generate(const Model& model, std::span<const std::int32_t> prompt, const Generation& how,
                                   const Pass& pass, const std::function<bool(std::int32_t)>& on_token = {});

struct Choice {
  std::int32_t id = 0;
  double probability = 0;
};

// What a sampler draws from: the ids that are left, rising, and their probabilities, which sum to 1. With a temperature
// of 0 that is the likeliest, the first among equals. Ids as likely as the top_k-th stay, so that there may be more.
// Throws std::invalid_argument for a temperature below 0, top_k below 0 and top_p outside (0, 1], and
// std::runtime_error for logits that are NaN or have no finite maximum.
std::vector<Choice> candidates(std::span<const float> logits, const Sampling& how);

// Which of these logits to take next. Draws by SplitMix64 from the seed, one number a call, none at temperature 0.
// Throws as candidates() does.
class Sampler {
 public:
  explicit Sampler(const Sampling& how);
  std::int32_t operator()(std::span<const float> logits);

 private:
  Sampling how_;
  std::uint64_t state_;
};

// The likeliest ids of a row of logits with their probabilities (softmax over the whole row, in double precision),
// falling; equal ones by id.
std::vector<Choice> likeliest(std::span<const float> logits, std::int64_t count);

}  // namespace attn::model
