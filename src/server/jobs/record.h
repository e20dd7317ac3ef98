// server/jobs/record.h - from a recipe to a specimen.
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

// What a trace needs besides (V, x, norms of values) is kept while all of it takes less than this; else only norms are.
inline constexpr std::int64_t kMostKept = std::int64_t{256} << 20;

struct RecordPlan {
  model::Keep keep;
  std::int64_t bytes = 0;  // that the recording will take
};
// Of a text of so many tokens, of which an encoder-decoder says so many.
RecordPlan plan(const model::Facts& facts, std::int64_t tokens, std::int64_t target);

// Who makes it.
struct RecordContext {
  const model::Reader& reader;
  ThreadPool& pool;
  std::function<void(std::int64_t bytes)> reserve = {};  // called before anything large is made; may throw
  base::Progress progress = {};                          // in layers; of a text that is generated, in tokens
  std::function<void(GeneratedStep)> on_step = {};       // each token that was generated
};

struct Recorded {
  std::shared_ptr<const insight::AttentionTables> tables;
  std::optional<Generated> generated;
};

// Throws std::invalid_argument for what the model cannot do, HttpError with status 413 for what is too long.
Recorded make(const RecordRequest& record_request, const RecordContext& context);

// Of a row of logits: the likeliest words, and what is known of one of them.
std::vector<LikelyWord> likeliest_words(const text::Tokenizer& tokenizer, std::span<const float> logits,
                                        std::int64_t top);
std::string word_of(const text::Tokenizer& tokenizer, std::int32_t id);
double entropy_of(std::span<const float> logits);  // of their softmax, nats

}  // namespace attn::server
