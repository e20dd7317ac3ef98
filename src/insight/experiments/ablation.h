// insight/experiments/ablation.h - switches heads off and measures how a model's predictions change.
//
// The effect is the direct one: what the rest of the model does without a head. Other heads may do the same work (or
// undo it), so a small effect does not make a head useless, and effects of several heads do not add up.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"
#include "model/run/model.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// All heads of a model, in the order self, decoder, cross.
std::vector<HeadId> heads_of(const model::Facts& facts);
// Throws std::invalid_argument, naming the valid range, if the model has no such head.
void check_head(const model::Facts& facts, const HeadId& head);

// log sum exp: log softmax(logits)[i] = logits[i] - log_total(logits).
double log_total(std::span<const float> logits);
// KL(before || after) of the softmax of two rows of logits, in nats, computed in double precision; never below 0.
double kl_divergence(std::span<const float> before, std::span<const float> after);

// Tokens at which predictions are compared, and what the model predicts there, in words.
struct PredictionPlaces {
  std::vector<std::int64_t> at;
  std::string what;
};
// The places in `asked`. If it is empty: an encoder's masked tokens, or every token if none is masked; a decoder's last
// token; every target token of an encoder-decoder. The result may be empty: a text of special tokens has no place.
PredictionPlaces places_of(const model::Reader& reader, const model::Recording& recording,
                           const std::vector<std::int64_t>& asked);

// Runs a recorded text again without some heads. Changes made for the recording (heads off, a mask) stay in force.
// Keeps references: reader and recording must outlive it.
class Ablation {
 public:
  // Compares the predictions made at the tokens `at`, which count in the text, or in the target of an encoder-decoder.
  // Throws std::invalid_argument if the model has no language-model head or there is no such token.
  Ablation(const model::Reader& reader, const model::Recording& recording, std::vector<std::int64_t> at,
           ThreadPool& pool);

  [[nodiscard]] const std::vector<std::int64_t>& at() const noexcept { return at_; }
  // Logits as recorded: [at, vocabulary].
  [[nodiscard]] const nn::Matrix& before() const noexcept { return before_; }
  // Logits [at, vocabulary] with all heads of `off` switched off at once.
  [[nodiscard]] nn::Matrix without(std::span<const HeadId> off, ThreadPool& pool) const;
  // KL(before || after) at each place, in nats.
  [[nodiscard]] std::vector<double> divergence(const nn::Matrix& after) const;

  struct Effect {
    HeadId head;
    double kl = 0;                        // mean over the places
    std::vector<std::int32_t> likeliest;  // at each place, without this head
  };
  // Switches off one head at a time, all others on; largest effect first. Batches many copies of the text into one
  // pass.
  [[nodiscard]] std::vector<Effect> rank(std::span<const HeadId> heads, const base::Progress& progress,
                                         ThreadPool& pool) const;

 private:
  // Copies of the text in one pass, each with its own heads off.
  struct Copies {
    std::int64_t count = 1;
    std::vector<model::HeadOff> off;
    model::LayerHook on_layer = {};
  };
  // Final hidden states at the places, for every copy: [copies at, width].
  [[nodiscard]] nn::Matrix hidden(Copies copies, ThreadPool& pool) const;

  const model::Reader& reader_;
  const model::Recording& recording_;
  std::vector<std::int64_t> at_;
  nn::Matrix before_;
};

}  // namespace attn::insight
