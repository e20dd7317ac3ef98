// server/jobs/record_request.h - what makes a recording: the body of a POST (docs/page.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "insight/tables/attention_tables.h"
#include "model/run/generate.h"

namespace attn::server {

inline constexpr std::int64_t kMostText = 1'000'000;  // bytes of all texts of a request
inline constexpr std::int64_t kMostTokens = 32'768;   // of a text, including what is generated

struct RecordRequest {
  std::string model, text;
  std::optional<std::string> pair = std::nullopt, target = std::nullopt;
  std::string mask = {};  // for attn::parse_mask(); empty: none
  std::vector<insight::HeadId> off = {};

  struct Generate {
    std::int64_t tokens = 20;
    model::Sampling sampling = {};
  };
  std::optional<Generate> generate = std::nullopt;

  // Equal for requests that make the same recording.
  [[nodiscard]] std::string key() const;
};

// Throws std::invalid_argument, naming the allowed members, for a body that is not a request, and HttpError with status
// 413 for a text that is too long.
RecordRequest parse_record_request(std::string_view body);

// A word that a model predicts.
struct LikelyWord {
  std::int32_t id = 0;
  std::string text;
  double probability = 0;
};

// One generated token. Probabilities are the softmax at temperature 1 over the whole vocabulary, before sampling rules
// apply.
struct GeneratedStep {
  LikelyWord chosen;
  std::vector<LikelyWord> choices;  // the likeliest
  double entropy = 0;               // nats
};

struct Generated {
  std::int64_t from =
      0;  // index of the first generated token among the tokens, or among those that an encoder-decoder wrote
  std::vector<GeneratedStep> steps;
};

}  // namespace attn::server
