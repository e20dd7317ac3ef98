// insight/statistics/induction.h - which heads look for what came after the same token before (Olsson et al., 2022).
#pragma once

#include <cstdint>
#include <vector>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "model/recording/recording.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// What the model is given: the tokens that its tokenizer puts in front of every text, then `length` ordinary tokens
// that were drawn at random, no two alike, then the same again. Always the same tokens for one vocabulary.
struct RepeatedTokens {
  std::vector<std::int32_t> ids;
  std::int64_t front = 0, length = 0;  // length 0: the model has too few positions or tokens
};
RepeatedTokens repeated_tokens(const model::Reader& reader);

// Of each head of kind self, the mean over the second copy of p[i, i - (length - 1)]: what is given to the token that
// followed the same token the first time. [layers, heads]; empty where length is 0. One pass through the model.
// `progress` is in layers.
nn::Matrix induction_scores(const model::Reader& reader, ThreadPool& pool, const base::Progress& progress = {});

}  // namespace attn::insight
