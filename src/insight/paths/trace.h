// insight/paths/trace.h - one attention weight with every number on its way.
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

// Empty vectors and absent numbers: neither recorded nor to be had from what there is.
struct Trace {
  HeadId head;
  std::int64_t query = 0, key = 0;
  std::int64_t key_head = 0;     // which keys and values the head reads: several heads may share them
  std::vector<float> x;          // [width] what q is projected from
  std::vector<float> q, k;       // [D] as they enter the product: after rotary positions
  std::vector<double> products;  // [D]
  double dot = 0;
  double scale = 1;
  std::optional<double> softcap;       // Gemma 2: no score of a product is beyond it
  std::optional<double> bias;          // T5: learned, by distance
  std::optional<std::int64_t> bucket;  // of which distance, where that is known
  std::optional<double> sink;          // a logit that takes part in lse and has no value
  std::string mask;                    // as text: "everything", "causal", ...
  bool allowed = true;                 // whether the mask lets the query see the key
  double score = 0;                    // -infinity if not
  double lse = 0;                      // log sum exp(score) of the whole row
  double weight = 0;
  std::vector<float> v;                     // [D]
  std::vector<double> contribution;         // [width]
  std::optional<double> contribution_norm;  // also without the vector, where norms of values were recorded
  std::vector<double> head_output;          // [width] the contributions of all keys together
  std::optional<double> head_output_norm;
  // <contribution, head_output> / |head_output|^2: the shares of all keys sum to 1. Absent if that output is zero.
  std::optional<double> share;
};

struct TracePlace {
  HeadId head;
  std::int64_t query = 0;
  std::optional<std::int64_t> key;  // none: the one with the largest weight
};

// With a null model there is no contribution. Throws std::invalid_argument for a head or a token that is not there.
Trace trace(const model::Recording& recording, const TracePlace& place, const model::Model* model, ThreadPool& pool);

}  // namespace attn::insight
