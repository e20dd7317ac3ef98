// insight/paths/trace.h - one attention weight with every number that leads to it.
//
//   products[d] = q[d] k[d]      dot = sum of products      score = cap(scale dot) + bias      cap(x): see attention.h
//   weight = exp(score - lse)    contribution = weight v W_O: what this head adds to the query's output for this key
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"
#include "model/run/model.h"

namespace attn::insight {

// Vectors are empty and numbers absent if they were not recorded and cannot be computed from the recording.
struct Trace {
  HeadId head;
  std::int64_t query = 0, key = 0;
  std::int64_t key_head = 0;     // index of the keys and values that the head uses; heads may share them
  std::vector<float> x;          // [width] the layer's input, from which q is projected
  std::vector<float> q, k;       // [D] as they enter the product: after rotary positions
  std::vector<double> products;  // [D]
  double dot = 0;
  double scale = 1;
  std::optional<double> softcap;       // Gemma 2: bounds the scaled product
  std::optional<double> bias;          // T5: learned, by distance
  std::optional<std::int64_t> bucket;  // of the bias, by distance, if the model has buckets
  std::optional<double> sink;          // a logit that is part of lse but has no value
  std::string mask;                    // as text: "everything", "causal", ...
  bool allowed = true;                 // whether the query may see the key
  double score = 0;                    // -infinity if not allowed
  double lse = 0;                      // log sum exp(score) of the whole row
  double weight = 0;
  std::vector<float> v;                     // [D]
  std::vector<double> contribution;         // [width]
  std::optional<double> contribution_norm;  // may be present without the vector, from recorded value norms
  std::vector<double> head_output;          // [width] sum of the contributions of all keys
  std::optional<double> head_output_norm;
  // <contribution, head_output> / |head_output|^2: the shares of all keys sum to 1. Absent if that output is zero.
  std::optional<double> share;
};

struct TracePlace {
  HeadId head;
  std::int64_t query = 0;
  std::optional<std::int64_t> key;  // none: the key with the largest weight
};

// A null model gives no contribution. Throws std::invalid_argument if the head or a token does not exist.
Trace trace(const model::Recording& recording, const TracePlace& place, const model::Model* model, ThreadPool& pool);

}  // namespace attn::insight
