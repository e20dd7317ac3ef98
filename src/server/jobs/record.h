// server/jobs/record.h - makes the recording that a RecordRequest describes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"
#include "server/jobs/record_request.h"

namespace attn::server {

// A recording keeps everything that a trace needs (V, x, value norms) if it takes fewer bytes than this, else only the
// norms.
inline constexpr std::int64_t kMostKept = std::int64_t{256} << 20;

struct RecordPlan {
  model::Keep keep;
  std::int64_t bytes = 0;  // of the recording
};
// Plans the recording of a text of `tokens` tokens, and `target` tokens that an encoder-decoder writes.
RecordPlan plan(const model::Facts& facts, std::int64_t tokens, std::int64_t target);

// What make() works with.
struct RecordContext {
  const model::Reader& reader;
  ThreadPool& pool;
  std::function<void(std::int64_t bytes)> reserve = {};  // called before large allocations; may throw
  base::Progress progress = {};                          // in layers, or in tokens while generating
  std::function<void(GeneratedStep)> on_step = {};       // called for each generated token
};

struct Recorded {
  std::shared_ptr<const insight::AttentionTables> tables;
  std::optional<Generated> generated;
};

// Throws std::invalid_argument for what the model cannot do, HttpError with status 413 for a text that is too long.
Recorded make(const RecordRequest& record_request, const RecordContext& context);

// The `top` likeliest words of a row of logits.
std::vector<LikelyWord> likeliest_words(const text::Tokenizer& tokenizer, std::span<const float> logits,
                                        std::int64_t top);
std::string word_of(const text::Tokenizer& tokenizer, std::int32_t id);
double entropy_of(std::span<const float> logits);  // of the softmax, in nats

}  // namespace attn::server
