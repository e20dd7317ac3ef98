#include "insight/paths/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "attn/bias.h"
#include "model/run/value_norms.h"

namespace attn::insight {

namespace {

void need_token(const char* what, std::int64_t value, std::int64_t count) {
  if (value >= 0 && value < count) return;
  throw std::invalid_argument("there is no " + std::string(what) + " " + std::to_string(value) +
                              ": tokens count from 0 to " + std::to_string(count - 1));
}

std::vector<float> part_of_row(const nn::Matrix& from, std::int64_t row, std::int64_t first, std::int64_t count) {
  if (from.empty()) return {};
  return {from.row(row) + first, from.row(row) + first + count};
}

double norm(const std::vector<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

// One row of the table.
nn::Matrix row_of(const model::AttentionLog& log, const HeadId& head, std::int64_t query, ThreadPool& pool) {
  nn::Matrix row(1, log.size(head.kind)[1]);
  log.weights({head.kind, head.layer, head.head, 0}, {query, 0}, row.view(), pool);
  return row;
}

void add_score(Trace& to, const model::AttentionRecord& record) {
  const auto width = static_cast<std::size_t>(record.shape.width);
  to.products.resize(width);
  for (std::size_t d = 0; d < width; ++d) to.products[d] = static_cast<double>(to.q[d]) * to.k[d];
  to.dot = std::accumulate(to.products.begin(), to.products.end(), 0.0);
  to.scale = record.rule.scale;
  if (record.rule.bias) {
    const model::BucketBias& bias = *record.rule.bias;
    to.bucket = t5_bucket(to.key - to.query, bias.rule);
    to.bias = bias.table.row(*to.bucket)[to.head.head];
  } else if (record.rule.distance_bias) {
    const nn::Matrix& bias = *record.rule.distance_bias;
    to.bias = bias.row(bias.rows() == 1 ? 0 : to.head.head)[to.key - to.query + record.queries - 1];
  }
  double score = to.dot * to.scale;
  if (record.rule.softcap > 0) {
    to.softcap = record.rule.softcap;
    score = *to.softcap * std::tanh(score / *to.softcap);
  }
  if (record.rule.sink) to.sink = record.rule.sink->row(0)[to.head.head];
  const Mask mask = record.rule.mask();
  to.mask = mask.text();
  to.allowed = mask.allows(0, to.head.head, to.query, to.key);
  to.score = to.allowed ? score + to.bias.value_or(0) : -std::numeric_limits<double>::infinity();
  to.lse = record.lse.row(to.head.head)[to.query];
  to.weight = to.allowed ? std::exp(to.score - to.lse) : 0;
}

// v W_O, where v is weighted already: the value of one key, or the sum over all keys.
std::vector<double> through(const nn::Matrix& projection, const std::vector<double>& v) {
  std::vector<double> out(static_cast<std::size_t>(projection.columns()));
  for (std::int64_t d = 0; d < projection.rows(); ++d) {
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += v[static_cast<std::size_t>(d)] * projection.row(d)[c];
  }
  return out;
}

void add_contribution(Trace& to, const model::AttentionRecord& record, const model::Model& model,
                      const nn::Matrix& weights) {
  const std::int64_t d = record.shape.width;
  std::vector<double> one(to.v.begin(), to.v.end()), all(static_cast<std::size_t>(d));
  for (double& x : one) x *= to.weight;
  for (std::int64_t j = 0; j < record.keys; ++j) {
    const float* const v = record.v.row(j) + to.key_head * d;
    for (std::int64_t e = 0; e < d; ++e)
      all[static_cast<std::size_t>(e)] += static_cast<double>(weights.data()[j]) * v[e];
  }
  const nn::Matrix projection =
      model::rows_of_head(model.output_projection(to.head.kind, to.head.layer), record.shape, to.head.head);
  to.contribution = through(projection, one);
  to.head_output = through(projection, all);
  to.contribution_norm = norm(to.contribution);
  to.head_output_norm = norm(to.head_output);
  const double square = *to.head_output_norm * *to.head_output_norm;
  if (square > 0) {
    to.share = std::inner_product(to.contribution.begin(), to.contribution.end(), to.head_output.begin(), 0.0) / square;
  }
}

}  // namespace

Trace trace(const model::Recording& recording, const TracePlace& place, const model::Model* model, ThreadPool& pool) {
  const model::AttentionLog& log = recording.log;
  const HeadId& head = place.head;
  const model::AttentionRecord& record = log.attention(head.kind, head.layer);
  if (head.head < 0 || head.head >= record.shape.heads) {
    throw std::invalid_argument("there is no head " + std::to_string(head.head) + ": heads count from 0 to " +
                                std::to_string(record.shape.heads - 1));
  }
  need_token("query", place.query, record.queries);
  if (place.key) need_token("key", *place.key, record.keys);

  const nn::Matrix weights = row_of(log, head, place.query, pool);
  Trace out;
  out.head = head;
  out.query = place.query;
  out.key = place.key ? *place.key : std::max_element(weights.data(), weights.data() + record.keys) - weights.data();
  out.key_head = head.head / (record.shape.heads / record.shape.key_heads);
  const std::int64_t d = record.shape.width;
  out.x = part_of_row(record.x, out.query, 0, record.x.columns());
  out.q = part_of_row(record.q, out.query, head.head * d, d);
  out.k = part_of_row(record.k, out.key, out.key_head * d, d);
  out.v = part_of_row(record.v, out.key, out.key_head * d, d);
  add_score(out, record);
  if (model != nullptr && !out.v.empty()) {
    add_contribution(out, record, *model, weights);
  } else if (!record.value_norms.empty()) {
    out.contribution_norm = out.weight * record.value_norms.row(head.head)[out.key];
  }
  return out;
}

}  // namespace attn::insight
