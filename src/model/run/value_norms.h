// model/run/value_norms.h - how long values are once they have gone through the output projection.
#pragma once

#include "model/recording/attention_log.h"
#include "nn/infer/linear.h"
#include "nn/infer/matrix.h"

namespace attn::model {

// What one head's output is multiplied by: [D, width].
nn::Matrix rows_of_head(const nn::Weight& projection, const HeadShape& shape, std::int64_t head);

// |v_j W_O| of every head and key: [H, keys]. With the weights p[i,j] these give the norm of what key j adds to query
// i, |p[i,j] v_j W_O| (Kobayashi et al., 2020). record.v must be there.
nn::Matrix value_norms(const AttentionRecord& record, const nn::Weight& projection);

}  // namespace attn::model
