// server/jobs/record_request.h - what a specimen is made from: the body of a POST (docs/page.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "insight/tables/attention_tables.h"
#include "model/run/generate.h"

namespace attn::server {

inline constexpr std::int64_t kMostText = 1'000'000;  // bytes of all texts of a recipe
inline constexpr std::int64_t kMostTokens = 32'768;   // of a text with what is generated behind it

struct RecordRequest {
  std::string model, text;
  std::optional<std::string> pair = std::nullopt, target = std::nullopt;
  std::string mask = {};  // as attn::parse_mask() reads it; empty: none
  std::vector<insight::HeadId> off = {};

  struct Generate {
    std::int64_t tokens = 20;
    model::Sampling sampling = {};
  };
  std::optional<Generate> generate = std::nullopt;

  // The same for two that make the same.
  [[nodiscard]] std::string key() const;
};

// Throws std::invalid_argument for what is no recipe, naming what one may have; HttpError with status 413 for a text
// that is too long.
RecordRequest parse_record_request(std::string_view body);

// A word that a model might put somewhere.
struct LikelyWord {
  std::int32_t id = 0;
  std::string text;
  double probability = 0;
};

// One token that a model has generated: softmax at temperature 1 over the whole vocabulary, before any rule.
struct GeneratedStep {
  LikelyWord chosen;
  std::vector<LikelyWord> choices;  // the likeliest
  double entropy = 0;               // nats
};

struct Generated {
  std::int64_t from = 0;  // the place of its first token among the tokens; of an encoder-decoder, among those written
  std::vector<GeneratedStep> steps;
};

}  // namespace attn::server
