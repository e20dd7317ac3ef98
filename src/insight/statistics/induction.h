// insight/statistics/induction.h - scores induction heads, which attend to the token that followed an earlier copy of
// the current token (Olsson et al., 2022).
#pragma once

#include <cstdint>
#include <vector>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "model/recording/recording.h"
#include "nn/infer/matrix.h"

namespace attn::insight {

// The model's input: the tokens that its tokenizer puts in front of every text, then `length` distinct ordinary tokens
// drawn at random, then the same tokens again. The draw depends on the vocabulary only.
struct RepeatedTokens {
  std::vector<std::int32_t> ids;
  std::int64_t front = 0, length = 0;  // length 0: the model has too few positions or tokens
};
RepeatedTokens repeated_tokens(const model::Reader& reader);

// [layers, heads] of kind self: the mean over the second copy of p[i, i - (length - 1)], the weight on the token that
// followed the same token the first time. Empty if length is 0. One pass through the model; `progress` counts layers.
nn::Matrix induction_scores(const model::Reader& reader, ThreadPool& pool, const base::Progress& progress = {});

}  // namespace attn::insight
