// model/run/value_norms.h - norms of values after the output projection.
#pragma once

#include "model/recording/attention_log.h"
#include "nn/infer/linear.h"
#include "nn/infer/matrix.h"

namespace attn::model {

// The part of the output projection that belongs to one head: [D, width].
nn::Matrix rows_of_head(const nn::Weight& projection, const HeadShape& shape, std::int64_t head);

// v_j W_O| per head and key: [H, keys]. Times the weight p[i,j] it gives the norm of what key j adds to query i,
// |p[i,j] v_j W_O| (Kobayashi et al., 2020). record.v must be present.
nn::Matrix value_norms(const AttentionRecord& record, const nn::Weight& projection);

}  // namespace attn::model
