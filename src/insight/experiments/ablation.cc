#include "insight/experiments/ablation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/runtime/copy_bytes.h"

namespace attn::insight {

namespace {

constexpr std::int64_t kAblationBatchTokens = 2048;  // enough for the matrix products to run at full speed

std::vector<std::int32_t> ids_of(const std::vector<text::Token>& tokens) {
  std::vector<std::int32_t> ids;
  for (const text::Token& token : tokens) ids.push_back(token.id);
  return ids;
}

model::Batch copies_of(const std::vector<text::Token>& tokens, std::int64_t copies) {
  const std::vector<std::int32_t> ids = ids_of(tokens);
  std::vector<std::int32_t> types;
  for (const text::Token& token : tokens) types.push_back(token.sequence);
  model::Batch batch;
  for (std::int64_t c = 0; c < copies; ++c) batch.add(ids, types);
  return batch;
}

struct AblatedHeads {
  std::int64_t layers = 0, heads = 0;
};

AblatedHeads heads_of_kind(const model::Facts& facts, Kind kind) {
  if (kind == Kind::self) return {facts.layers, facts.heads.heads};
  if (facts.form != model::Form::encoder_decoder) return {};
  return {facts.decoder_layers, facts.decoder_heads.heads};
}

std::span<const float> row(const nn::Matrix& of, std::int64_t i) {
  return {of.row(i), static_cast<std::size_t>(of.columns())};
}

}  // namespace

std::vector<HeadId> heads_of(const model::Facts& facts) {
  std::vector<HeadId> all;
  for (const Kind kind : {Kind::self, Kind::decoder, Kind::cross}) {
    const AblatedHeads of = heads_of_kind(facts, kind);
    for (std::int64_t layer = 0; layer < of.layers; ++layer)
      for (std::int64_t head = 0; head < of.heads; ++head) all.push_back({kind, layer, head});
  }
  return all;
}

void check_head(const model::Facts& facts, const HeadId& head) {
  const AblatedHeads of = heads_of_kind(facts, head.kind);
  if (of.layers == 0) {
    throw std::invalid_argument("a " + facts.type + " has no attention of kind '" + std::string(name_of(head.kind)) +
                                "', only self");
  }
  if (head.layer >= 0 && head.layer < of.layers && head.head >= 0 && head.head < of.heads) return;
  throw std::invalid_argument("there is no " + to_string(head) + ": layers count from 0 to " +
                              std::to_string(of.layers - 1) + ", heads from 0 to " + std::to_string(of.heads - 1));
}

PredictionPlaces places_of(const model::Reader& reader, const model::Recording& recording,
                           const std::vector<std::int64_t>& asked) {
  const model::Form form = reader.model->facts().form;
  if (form == model::Form::encoder) {
    if (!asked.empty()) return {asked, "the token itself"};
    PredictionPlaces gaps{{}, "the gap"}, every{{}, "each token itself"};
    for (std::size_t i = 0; i < recording.tokens.size(); ++i) {
      const auto token = static_cast<std::int64_t>(i);
      if (recording.tokens[i].id == reader.tokenizer.special().mask) gaps.at.push_back(token);
      if (!recording.tokens[i].special) every.at.push_back(token);
    }
    return gaps.at.empty() ? every : gaps;
  }
  if (!asked.empty()) return {asked, "the next token"};
  if (form == model::Form::decoder) return {{std::ssize(recording.tokens) - 1}, "the next token"};
  PredictionPlaces every{{}, "the next token"};
  for (std::int64_t i = 0; i < std::ssize(recording.target); ++i) every.at.push_back(i);
  return every;
}

double log_total(std::span<const float> logits) {
  const double peak = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - peak);
  return peak + std::log(sum);
}

double kl_divergence(std::span<const float> before, std::span<const float> after) {
  const double total_before = log_total(before), total_after = log_total(after);
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double log_p = before[i] - total_before;
    const double p = std::exp(log_p);
    if (p > 0) sum += p * (log_p - (after[i] - total_after));
  }
  return std::max(sum, 0.0);  // rounding may leave -1e-17
}

Ablation::Ablation(const model::Reader& reader, const model::Recording& recording, std::vector<std::int64_t> at,
                   ThreadPool& pool)
    : reader_(reader), recording_(recording), at_(std::move(at)) {
  const model::Facts& facts = reader.model->facts();
  if (!facts.has_logits) {
    throw std::invalid_argument("this " + facts.type +
                                " has no language-model head: there are no predictions to compare");
  }
  const bool by_target = facts.form == model::Form::encoder_decoder;
  if (by_target && recording.target.empty()) throw std::invalid_argument("the encoder-decoder has no target tokens");
  const std::int64_t count = std::ssize(by_target ? recording.target : recording.tokens);
  if (at_.empty()) throw std::invalid_argument("name at least one token at which to compare predictions");
  for (const std::int64_t token : at_) {
    if (token >= 0 && token < count) continue;
    throw std::invalid_argument("there is no token " + std::to_string(token) + ": tokens count from 0 to " +
                                std::to_string(count - 1));
  }
  before_ = without({}, pool);
}

nn::Matrix Ablation::hidden(Copies copies, ThreadPool& pool) const {
  const model::Model& model = *reader_.model;
  copies.off.insert(copies.off.end(), recording_.changes.off.begin(), recording_.changes.off.end());
  model::Pass pass{.pool = pool, .off = copies.off, .also = recording_.changes.also, .on_layer = copies.on_layer};
  nn::Matrix states = model.read(copies_of(recording_.tokens, copies.count), pass);
  std::int64_t length = std::ssize(recording_.tokens);
  if (model.facts().form == model::Form::encoder_decoder) {
    model::EncoderOutput memory{std::move(states), {0}};
    for (std::int64_t c = 1; c <= copies.count; ++c) memory.starts.push_back(c * length);
    pass.memory = &memory;
    states = model.decode(copies_of(recording_.target, copies.count), pass);
    length = std::ssize(recording_.target);
  }
  nn::Matrix rows(copies.count * std::ssize(at_), states.columns());
  for (std::int64_t c = 0, to = 0; c < copies.count; ++c) {
    for (const std::int64_t token : at_) {
      copy_bytes(rows.row(to++), states.row(c * length + token),
                 static_cast<std::size_t>(states.columns()) * sizeof(float));
    }
  }
  return rows;
}

nn::Matrix Ablation::without(std::span<const HeadId> off, ThreadPool& pool) const {
  Copies one;
  for (const HeadId& head : off) {
    check_head(reader_.model->facts(), head);
    one.off.push_back({head.kind, head.layer, head.head, -1});
  }
  return reader_.model->logits(hidden(std::move(one), pool).view(), pool);
}

std::vector<double> Ablation::divergence(const nn::Matrix& after) const {
  std::vector<double> kl;
  for (std::int64_t i = 0; i < before_.rows(); ++i) kl.push_back(kl_divergence(row(before_, i), row(after, i)));
  return kl;
}

std::vector<Ablation::Effect> Ablation::rank(std::span<const HeadId> heads, const base::Progress& progress,
                                             ThreadPool& pool) const {
  for (const HeadId& head : heads) check_head(reader_.model->facts(), head);
  const std::int64_t length = std::ssize(recording_.tokens) + std::ssize(recording_.target), count = std::ssize(heads);
  const std::int64_t step =
      std::clamp<std::int64_t>(kAblationBatchTokens / length, 1, std::max<std::int64_t>(count, 1));
  const std::int64_t places = std::ssize(at_);
  std::vector<Effect> effects;
  for (std::int64_t first = 0; first < count; first += step) {
    base::tell(progress, first, count);
    const std::int64_t copies = std::min(step, count - first);
    Copies batch{
        .count = copies, .off = {}, .on_layer = [&](Kind, std::int64_t) { base::tell(progress, first, count); }};
    for (std::int64_t c = 0; c < copies; ++c) {
      const HeadId& head = heads[static_cast<std::size_t>(first + c)];
      batch.off.push_back({head.kind, head.layer, head.head, c});
    }
    const nn::Matrix states = hidden(std::move(batch), pool);
    for (std::int64_t c = 0; c < copies; ++c) {
      const nn::Matrix after = reader_.model->logits(nn::rows_of(states.view(), c * places, places), pool);
      const std::vector<double> kl = divergence(after);
      Effect effect{heads[static_cast<std::size_t>(first + c)],
                    std::accumulate(kl.begin(), kl.end(), 0.0) / static_cast<double>(places),
                    {}};
      for (std::int64_t i = 0; i < places; ++i) {
        const std::span<const float> logits = row(after, i);
        effect.likeliest.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
      }
      effects.push_back(std::move(effect));
    }
  }
  std::ranges::stable_sort(effects, [](const Effect& a, const Effect& b) { return a.kl > b.kl; });
  return effects;
}

}  // namespace attn::insight
