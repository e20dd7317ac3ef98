// insight/experiments/ablation.h - heads switched off, and how a model's predictions move.
//
// Says what the rest of the model does without a head, right away. Other heads may do the same work (or undo it), so a
// small effect does not make a head useless, and effects of several heads do not add up.
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
// Throws std::invalid_argument that names what there is.
void check_head(const model::Facts& facts, const HeadId& head);

// log sum exp: the logarithm of a softmax is a logit minus this.
double log_total(std::span<const float> logits);
// KL(before || after) of the softmax of two rows of logits, in nats, computed in double precision; never below 0.
double kl_divergence(std::span<const float> before, std::span<const float> after);

// Where predictions are compared, and what they are of.
struct PredictionPlaces {
  std::vector<std::int64_t> at;
  std::string what;
};
// Those that are asked for. None: an encoder's gaps, or where there are none each token itself; behind a decoder's last
// token; all that an encoder-decoder says. May be empty: a text of special tokens has none.
PredictionPlaces places_of(const model::Reader& reader, const model::Recording& recording,
                           const std::vector<std::int64_t>& asked);

// A text that was read, to be read again without some heads; what was changed when it was read (heads off, a mask)
// stays so. Keeps references: reader and reading must outlive it.
class Ablation {
 public:
  // Predictions are looked at behind these tokens: of the text, or of an encoder-decoder's target. Throws
  // std::invalid_argument if the model has no language-model head, and for a token that is not there.
  Ablation(const model::Reader& reader, const model::Recording& recording, std::vector<std::int64_t> at,
           ThreadPool& pool);

  [[nodiscard]] const std::vector<std::int64_t>& at() const noexcept { return at_; }
  // As it was read: [at, vocabulary].
  [[nodiscard]] const nn::Matrix& before() const noexcept { return before_; }
  // Without these heads too, all off at once.
  [[nodiscard]] nn::Matrix without(std::span<const HeadId> off, ThreadPool& pool) const;
  // KL(before || after) at each place.
  [[nodiscard]] std::vector<double> divergence(const nn::Matrix& after) const;

  struct Effect {
    HeadId head;
    double kl = 0;                        // mean over the places
    std::vector<std::int32_t> likeliest;  // at each place, without this head
  };
  // Each head off by itself, all others on; largest effect first. Many copies of the text go through at once.
  [[nodiscard]] std::vector<Effect> rank(std::span<const HeadId> heads, const base::Progress& progress,
                                         ThreadPool& pool) const;

 private:
  // Hidden states behind the places, of every copy of the text: [copies at, width].
  struct Copies {
    std::int64_t count = 1;
    std::vector<model::HeadOff> off;
    model::LayerHook on_layer = {};
  };
  [[nodiscard]] nn::Matrix hidden(Copies copies, ThreadPool& pool) const;

  const model::Reader& reader_;
  const model::Recording& recording_;
  std::vector<std::int64_t> at_;
  nn::Matrix before_;
};

}  // namespace attn::insight
