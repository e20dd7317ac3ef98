#include "model/run/model.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/run/cache.h"
#include "model/run/distributed.h"

namespace attn::model {

Batch::Batch(std::vector<std::int32_t> one, std::vector<std::int32_t> its_types)
    : ids(std::move(one)), types(std::move(its_types)), starts{0, static_cast<std::int64_t>(ids.size())} {}

void Batch::add(std::span<const std::int32_t> more, std::span<const std::int32_t> more_types) {
  if (!more_types.empty() && types.size() < ids.size()) types.resize(ids.size());
  ids.insert(ids.end(), more.begin(), more.end());
  if (!more_types.empty() || !types.empty()) {
    types.insert(types.end(), more_types.begin(), more_types.end());
    types.resize(ids.size());
  }
  starts.push_back(tokens());
}

std::string_view name_of(Form form) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"encoder", "decoder", "encoder-decoder"};
  return kNames[static_cast<std::size_t>(form)];
}

void Model::check(const Batch& batch, std::int64_t seen) const {
  if (batch.starts.size() < 2) throw std::invalid_argument("there is no text: a batch needs at least one sequence");
  if (batch.starts.front() != 0 || batch.starts.back() != batch.tokens()) {
    throw std::invalid_argument("sequences of a batch go from " + std::to_string(batch.starts.front()) + " to " +
                                std::to_string(batch.starts.back()) + ", its tokens from 0 to " +
                                std::to_string(batch.tokens()));
  }
  if (!batch.types.empty() && batch.types.size() != batch.ids.size()) {
    throw std::invalid_argument("there are " + std::to_string(batch.types.size()) + " token types for " +
                                std::to_string(batch.ids.size()) + " tokens");
  }
  for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s) {
    const std::int64_t length = batch.starts[s + 1] - batch.starts[s];
    if (length < 1) throw std::invalid_argument("the text is empty: it has no tokens");
    if (facts_.max_tokens > 0 && seen + length > facts_.max_tokens) {
      throw std::invalid_argument("the text has " + std::to_string(seen + length) + " tokens; this " + facts_.type +
                                  " takes at most " + std::to_string(facts_.max_tokens));
    }
  }
  for (const std::int32_t id : batch.ids) {
    if (id < 0 || id >= facts_.vocabulary) {
      throw std::invalid_argument("token id " + std::to_string(id) + " is not in the model's vocabulary of " +
                                  std::to_string(facts_.vocabulary) + ": the tokenizer belongs to another model");
    }
  }
}

nn::Matrix Model::run(Run stack, const Batch& batch, Pass pass) const {
  pass.whole = nullptr;
  if (pass.ranks == nullptr || pass.ranks->size() == 1) return (this->*stack)(batch, pass);
  if (batch.sequences() != 1) {
    throw std::invalid_argument("several processes share one text at a time, but this batch has " +
                                std::to_string(batch.sequences()));
  }
  if (pass.cache != nullptr) throw std::invalid_argument("a text that several processes share cannot use a cache");
  const RingSplit split(batch.tokens(), pass.ranks->size());
  const auto mine = [&](const std::vector<std::int32_t>& list) {
    return part_of(std::span<const std::int32_t>(list), split, pass.ranks->rank());
  };
  pass.whole = &batch;
  return (this->*stack)(Batch(mine(batch.ids), batch.types.empty() ? batch.types : mine(batch.types)), pass);
}

nn::Matrix Model::encode(const Batch& batch, const Pass& pass) const {
  if (facts_.form == Form::decoder) throw std::invalid_argument("a " + facts_.type + " has no encoder");
  check(batch);
  Pass own = pass;
  own.cache = nullptr;
  own.memory = nullptr;
  return run(&Model::do_encode, batch, own);
}

nn::Matrix Model::decode(const Batch& batch, const Pass& pass) const {
  if (facts_.form == Form::encoder) throw std::invalid_argument("a " + facts_.type + " has no decoder");
  check(batch, pass.cache != nullptr ? pass.cache->seen() : 0);
  if (pass.cache != nullptr && batch.sequences() != 1) {
    throw std::invalid_argument("a cache holds one sequence, but this batch has " + std::to_string(batch.sequences()));
  }
  if (facts_.form == Form::encoder_decoder) {
    if (pass.memory == nullptr)
      throw std::invalid_argument("the decoder of a " + facts_.type + " needs the encoder's memory");
    if (pass.memory->starts.size() != batch.starts.size()) {
      throw std::invalid_argument("the decoder got " + std::to_string(batch.sequences()) +
                                  " sequences, but the encoder's memory holds " +
                                  std::to_string(pass.memory->starts.size() - 1));
    }
  }
  nn::Matrix hidden = run(&Model::do_decode, batch, pass);
  if (pass.cache != nullptr) pass.cache->advance(batch.tokens());
  return hidden;
}

nn::Matrix Model::read(const Batch& batch, const Pass& pass) const {
  return facts_.form == Form::decoder ? decode(batch, pass) : encode(batch, pass);
}

nn::Matrix Model::logits(View<const float, 2> hidden, ThreadPool& pool) const {
  if (!facts_.has_logits) throw std::invalid_argument("this " + facts_.type + " has no language-model head");
  return do_logits(hidden, pool);
}

nn::Matrix Model::pooled(View<const float, 2> first_tokens, ThreadPool& pool) const {
  if (!facts_.has_pooler) throw std::invalid_argument("this " + facts_.type + " has no pooler");
  return do_pooled(first_tokens, pool);
}

nn::Matrix Model::classify(View<const float, 2> first_tokens, ThreadPool& pool) const {
  if (facts_.labels.empty()) throw std::invalid_argument("this " + facts_.type + " has no classification head");
  return do_classify(first_tokens, pool);
}

nn::Weight Model::output_projection(Kind kind, std::int64_t layer) const {
  const std::int64_t layers = kind == Kind::self ? facts_.layers : facts_.decoder_layers;
  if (layer < 0 || layer >= layers) {
    throw std::invalid_argument("there is no layer " + std::to_string(layer) + " of kind '" +
                                std::string(name_of(kind)) + "': this " + facts_.type + " has " +
                                std::to_string(layers));
  }
  return do_output_projection(kind, layer);
}

// Never called: the public functions above check facts() first.
nn::Matrix Model::do_encode(const Batch&, const Pass&) const { return {}; }
nn::Matrix Model::do_decode(const Batch&, const Pass&) const { return {}; }
nn::Matrix Model::do_logits(View<const float, 2>, ThreadPool&) const { return {}; }
nn::Matrix Model::do_pooled(View<const float, 2>, ThreadPool&) const { return {}; }
nn::Matrix Model::do_classify(View<const float, 2>, ThreadPool&) const { return {}; }
nn::Weight Model::do_output_projection(Kind, std::int64_t) const { return {}; }

}  // namespace attn::model
