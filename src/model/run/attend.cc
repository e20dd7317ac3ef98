#include "model/run/attend.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/ring.h"
#include "engine/runtime/copy_bytes.h"
#include "model/run/cache.h"
#include "model/run/distributed.h"
#include "nn/infer/split.h"

namespace attn::model {

namespace {

View<float, 2> scratch(nn::Matrix& memory, std::int64_t rows, std::int64_t columns) {
  if (memory.rows() < rows || memory.columns() != columns) memory = nn::Matrix(rows, columns);
  return nn::rows_of(memory.view(), 0, rows);
}

void copy_rows(const View<const float, 2>& from, const View<float, 2>& to) {
  for (std::int64_t i = 0; i < from.shape[0]; ++i) {
    copy_bytes(to.at(i), from.at(i), static_cast<std::size_t>(from.shape[1]) * sizeof(float));
  }
}

}  // namespace

Attend::Attend(Tag, Kind kind, const HeadShape& shape, Rule rule, const Pass& pass)
    : kind_(kind), shape_(shape), rule_(std::move(rule)), pass_(pass) {}

// A mask with a table inside must not be evaluated outside of it, so it is checked before it is used.
void Attend::take_besides() {
  if (kind_ != Kind::self || pass_.also.everything()) return;
  rule_.also = pass_.also;
  for (std::size_t s = 0; s + 1 < key_starts_.size(); ++s) {
    const std::int64_t length = spread() ? whole_[1] : key_starts_[s + 1] - key_starts_[s];
    check_besides(rule_.also, {1, shape_.heads, length, length});
  }
}

Attend::Attend(Kind kind, const HeadShape& shape, Rule rule, const Batch& batch, const Pass& pass)
    : Attend(Tag{}, kind, shape, std::move(rule), pass) {
  query_starts_ = batch.starts;
  seen_ = pass.cache != nullptr ? pass.cache->seen() : 0;
  key_starts_ = query_starts_;
  if (pass.cache != nullptr) key_starts_ = {0, seen_ + batch.tokens()};
  if (spread()) whole_ = {pass.whole->tokens(), pass.whole->tokens()};
  find_positions();
  take_besides();
  begin_log();
}

void Attend::find_positions() {
  if (spread()) {
    positions_ = places_of(RingSplit(whole_[0], pass_.ranks->size()), pass_.ranks->rank());
    return;
  }
  positions_.reserve(static_cast<std::size_t>(queries()));
  for (std::size_t s = 0; s + 1 < query_starts_.size(); ++s) {
    for (std::int64_t i = query_starts_[s]; i < query_starts_[s + 1]; ++i) {
      positions_.push_back(seen_ + i - query_starts_[s]);
    }
  }
}

Attend Attend::cross(const HeadShape& shape, Rule rule, const Batch& batch, const Pass& pass) {
  Attend attend(Tag{}, Kind::cross, shape, std::move(rule), pass);
  attend.query_starts_ = batch.starts;
  attend.key_starts_ = pass.memory->starts;
  if (attend.spread()) {
    attend.whole_ = {pass.whole->tokens(), pass.memory->starts.back()};
    attend.key_starts_ = {0, pass.memory->hidden.rows()};
  }
  attend.seen_ = pass.cache != nullptr ? pass.cache->seen() : 0;
  attend.begin_log();
  return attend;
}

std::int64_t Attend::length(std::size_t sequence) const noexcept {
  return spread() ? whole_[0] : positions_[static_cast<std::size_t>(query_starts_[sequence + 1]) - 1] + 1;
}

// Keys that this pass adds.
std::int64_t Attend::new_keys() const noexcept {
  if (kind_ != Kind::cross) return queries();
  return pass_.cache != nullptr && seen_ > 0 ? 0 : key_starts_.back();
}

void Attend::begin_log() {
  AttentionLog* log = pass_.log;
  if (log == nullptr || !log->keep().attention) return;
  const std::int64_t before = log->has(kind_) ? log->attention(kind_, 0).queries : 0;
  if (before != seen_) {
    throw std::invalid_argument("a recording and its cache must hold the same tokens: the recording holds " +
                                std::to_string(before) + " tokens, the cache " + std::to_string(seen_));
  }
  if (pass_.cache == nullptr) {
    log->set_sequences(kind_, query_starts_, key_starts_);
  } else {
    const std::int64_t all_queries[] = {0, seen_ + queries()};
    log->set_sequences(kind_, all_queries, key_starts_);
  }
}

Attend::Rows Attend::rows(std::int64_t layer, View<const float, 2> x) {
  const std::int64_t n = queries();
  const std::int64_t m = new_keys();
  if (pass_.on_layer) pass_.on_layer(kind_, layer);
  rows_ = {};
  lse_ = {};
  if (pass_.log != nullptr && pass_.log->keep().attention) {
    const AttentionLog::Rows kept = pass_.log->add(kind_, layer, shape_, rule_, {n, m});
    rows_.q = kept.q;
    rows_.k = kept.k;
    rows_.v = kept.v;
    lse_ = kept.lse;
    if (pass_.log->keep().inputs) pass_.log->add_inputs(kind_, layer, x);
  } else {
    rows_.q = scratch(q_, n, shape_.query_columns());
    if (m > 0) rows_.k = scratch(k_, m, shape_.key_columns());
  }
  if (m == 0) {
    rows_.k = {};
    rows_.v = {};
  } else if (rows_.v.empty()) {
    rows_.v = scratch(v_, m, shape_.key_columns());
  }
  return rows_;
}

// Keys and values for this layer's queries: those projected in this pass, and those in the cache.
Attend::Keys Attend::keys(std::int64_t layer) {
  const auto [heads, width] = std::pair{shape_.key_heads, shape_.width};
  Cache* cache = pass_.cache;
  if (cache == nullptr) return {by_head(rows_.k, heads, width), by_head(rows_.v, heads, width)};
  const auto at = static_cast<std::size_t>(layer);
  if (kind_ == Kind::cross) {
    if (cache->cross.size() <= at) cache->cross.resize(at + 1);
    Cache::Cross& known = cache->cross[at];
    if (new_keys() > 0) {
      known.k = nn::Matrix(new_keys(), shape_.key_columns());
      known.v = nn::Matrix(new_keys(), shape_.key_columns());
      copy_rows(rows_.k, known.k.view());
      copy_rows(rows_.v, known.v.view());
    }
    return {by_head(known.k.view(), heads, width), by_head(known.v.view(), heads, width)};
  }
  while (cache->layers.size() <= at) {
    cache->layers.emplace_back(KvCache::Config{.batch = 1,
                                               .heads = heads,
                                               .width = width,
                                               .value_width = width,
                                               .max_tokens = cache->max_tokens(),
                                               .type = Type::float32});
  }
  KvCache& known = cache->layers[at];
  if (known.size() > seen_) known.truncate(seen_);  // left over from a pass that failed
  known.append(by_head(rows_.k, heads, width), by_head(rows_.v, heads, width));
  return {known.k(), known.v()};
}

Options Attend::options(std::int64_t longest_query, std::int64_t longest_key) {
  Options options;
  options.mask = rule_.mask(seen_);
  options.scale = rule_.scale;
  if (rule_.bias) {
    if (!bias_) bias_.emplace(t5_bias(rule_.bias->table.view(), {longest_query, longest_key, seen_}, rule_.bias->rule));
    options.bias = std::as_const(*bias_).view();
  }
  return options;
}

void Attend::mix(std::int64_t layer, View<float, 2> out) {
  const Keys met = keys(layer);
  const Inputs in{by_head(rows_.q, shape_.heads, shape_.width), met.k, met.v};
  const View<float, 4> to = by_head(out, shape_.heads, shape_.width);
  const Options how =
      spread() ? options(whole_[0], whole_[1]) : options(nn::longest(query_starts_), nn::longest(key_starts_));
  if (spread()) {
    ring_attention(in, how, {*pass_.ranks, whole_[0], whole_[1]}, to, lse_, pass_.pool);
  } else if (query_starts_.size() == 2) {
    attention(in, how, to, lse_, pass_.pool);
  } else {
    attention(in, how, Packing{query_starts_, key_starts_}, to, lse_, pass_.pool);
  }
  switch_off(layer, out);
}

void Attend::switch_off(std::int64_t layer, const View<float, 2>& out) const {
  for (const HeadOff& off : pass_.off) {
    if (off.kind != kind_ || off.layer != layer) continue;
    const auto sequence = static_cast<std::size_t>(off.sequence);
    const std::int64_t from = off.sequence < 0 ? 0 : query_starts_[sequence];
    const std::int64_t to = off.sequence < 0 ? queries() : query_starts_[sequence + 1];
    for (std::int64_t i = from; i < to; ++i) std::fill_n(out.at(i) + off.head * shape_.width, shape_.width, 0.0F);
  }
}

}  // namespace attn::model
