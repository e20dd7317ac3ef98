// GPT-2 (Radford et al., 2019):
//
//   x = word + position
//   x = x + W_o attention(norm(x))      in every layer
//   x = x + W_2 f(W_1 norm(x) + b_1)
//   x = norm(x)
#include <cmath>
#include <string>
#include <utility>

#include "attn/error.h"
#include "model/families/activation_name.h"
#include "model/families/facts.h"
#include "model/families/families.h"
#include "model/families/layers.h"
#include "model/run/attend.h"
#include "nn/infer/embedding.h"

namespace attn::model {

namespace {

struct Gpt2Layer {
  nn::LayerNorm attention_norm;
  nn::Linear qkv, mix;
  nn::LayerNorm norm;
  nn::Linear up, down;
};

class Gpt2 final : public Model {
 public:
  Gpt2(const Config& config, Weights&& weights);

 protected:
  nn::Matrix do_decode(const Batch& batch, const Pass& pass) const override;
  nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool& pool) const override;
  nn::Weight do_output_projection(Kind kind, std::int64_t layer) const override;

 private:
  Gpt2Layer load_layer(std::int64_t index) const;
  nn::Matrix embed(const Batch& batch, std::span<const std::int64_t> positions) const;

  Weights weights_;  // the embeddings below are views into it
  std::int64_t inner_;
  double epsilon_;
  nn::Activation activation_;
  float scale_;                   // of scores
  bool scale_by_layer_;           // scores of layer l are also divided by l + 1
  AnyView<2> words_, positions_;  // [vocabulary, width], [positions, width]
  std::vector<Gpt2Layer> layers_;
  nn::LayerNorm last_norm_;
  nn::Linear head_;
};

Gpt2::Gpt2(const Config& config, Weights&& weights)
    : Model(gpt2_facts(config)),
      weights_(std::move(weights)),
      inner_(read_size(config, {"n_inner"}, 4 * facts_.width)),
      epsilon_(config.number({"layer_norm_epsilon"}, 1e-5)),
      activation_(parse_activation(config, {"activation_function"}, "gelu_new")),
      scale_(config.flag({"scale_attn_weights"}, true) ? 1 / std::sqrt(static_cast<float>(facts_.heads.width)) : 1),
      scale_by_layer_(config.flag({"scale_attn_by_inverse_layer_idx"}, false)) {
  if (weights_.has("transformer.wte.weight")) weights_.set_prefix("transformer.");
  facts_.parameters = weights_.parameters();
  facts_.bytes = weights_.bytes();

  words_ = weights_.matrix("wte.weight", facts_.vocabulary, facts_.width);
  positions_ = weights_.matrix("wpe.weight", facts_.max_tokens, facts_.width);
  for (std::int64_t i = 0; i < facts_.layers; ++i) layers_.push_back(load_layer(i));
  last_norm_ = layer_norm(weights_, "ln_f", facts_.width, epsilon_);

  const bool own = weights_.has("lm_head.weight");
  facts_.has_logits = own || config.flag({"tie_word_embeddings"}, true);
  if (own) {
    head_ = linear_of(weights_, {weights_.linear("lm_head", facts_.width, facts_.vocabulary)});
  } else if (facts_.has_logits) {
    head_ = linear_of(weights_, {{.matrix = words_}});
  }
}

// Columns [first, first + count) of a matrix stored as [in, out].
nn::Weight columns_of(const nn::Weight& whole, std::int64_t first, std::int64_t count) {
  nn::Weight part = whole;
  const auto* const matrix = static_cast<const std::byte*>(whole.matrix.data);
  part.matrix.data = matrix + first * static_cast<std::int64_t>(size_of(whole.matrix.type));
  part.matrix.shape[1] = count;
  if (whole.bias.empty()) return part;
  const auto* const bias = static_cast<const std::byte*>(whole.bias.data);
  part.bias.data = bias + first * static_cast<std::int64_t>(size_of(whole.bias.type));
  part.bias.shape[0] = count;
  return part;
}

nn::Weight Gpt2::do_output_projection(Kind, std::int64_t layer) const {
  return weights_.conv1d("h." + std::to_string(layer) + ".attn.c_proj", facts_.width, facts_.width);
}

Gpt2Layer Gpt2::load_layer(std::int64_t index) const {
  const std::int64_t width = facts_.width;
  const std::string layer = "h." + std::to_string(index) + ".";
  const auto conv1d = [&](const char* name, std::int64_t in, std::int64_t out) {
    return weights_.conv1d(layer + name, in, out);
  };
  const nn::Weight qkv = conv1d("attn.c_attn", width, 3 * width);
  return {
      .attention_norm = layer_norm(weights_, layer + "ln_1", width, epsilon_),
      .qkv = linear_of(weights_,
                       {columns_of(qkv, 0, width), columns_of(qkv, width, width), columns_of(qkv, 2 * width, width)}),
      .mix = linear_of(weights_, {do_output_projection(Kind::self, index)}),
      .norm = layer_norm(weights_, layer + "ln_2", width, epsilon_),
      .up = linear_of(weights_, {conv1d("mlp.c_fc", width, inner_)}),
      .down = linear_of(weights_, {conv1d("mlp.c_proj", inner_, width)}),
  };
}

nn::Matrix Gpt2::embed(const Batch& batch, std::span<const std::int64_t> positions) const {
  std::vector<std::int32_t> rows;
  rows.reserve(positions.size());
  for (const std::int64_t position : positions) rows.push_back(static_cast<std::int32_t>(position));
  nn::Matrix x(batch.tokens(), facts_.width);
  nn::embed(words_, batch.ids, x.view());
  nn::add_embedded(positions_, rows, x.view());
  return x;
}

// All layers share one rule, so a per-layer factor of the scores goes into the queries.
void shrink(const View<float, 2>& q, float factor) {
  for (std::int64_t i = 0; i < q.shape[0]; ++i)
    for (std::int64_t j = 0; j < q.shape[1]; ++j) q(i, j) *= factor;
}

nn::Matrix Gpt2::do_decode(const Batch& batch, const Pass& pass) const {
  ThreadPool& pool = pass.pool;
  Attend attend(Kind::self, facts_.heads, {.causal = true, .scale = scale_}, batch, pass);
  nn::Matrix rows = embed(batch, attend.positions());
  nn::Matrix normed_rows(batch.tokens(), facts_.width), mixed_rows(batch.tokens(), facts_.width);
  nn::Matrix inner_rows(batch.tokens(), inner_);
  const View<float, 2> x = rows.view(), normed = normed_rows.view(), mixed = mixed_rows.view();
  const View<float, 2> inner = inner_rows.view();

  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Gpt2Layer& layer = layers_[i];
    const auto index = static_cast<std::int64_t>(i);
    pass.keep_hidden(false, i, x);
    layer.attention_norm(x, normed, pool);
    const Attend::Rows to = attend.rows(index, normed);
    layer.qkv(normed, {to.q, to.k, to.v}, pool);
    if (scale_by_layer_) shrink(to.q, 1 / static_cast<float>(i + 1));
    attend.mix(index, mixed);
    layer.mix(mixed, x, pool, {.add = x});

    layer.norm(x, normed, pool);
    layer.up(normed, inner, pool, {.activation = activation_});
    layer.down(inner, x, pool, {.add = x});
  }
  last_norm_(x, x, pool);
  pass.keep_hidden(false, layers_.size(), x);
  return rows;
}

nn::Matrix Gpt2::do_logits(View<const float, 2> hidden, ThreadPool& pool) const {
  nn::Matrix logits(hidden.shape[0], facts_.vocabulary);
  head_(hidden, logits.view(), pool);
  return logits;
}

}  // namespace

Facts gpt2_facts(const Config& config) {
  if (config.flag({"add_cross_attention"}, false)) {
    throw Error(config.path(),
                "add_cross_attention true is not supported: attnscope runs gpt2 as a decoder without an encoder");
  }
  Facts facts;
  facts.type = config.text({"model_type"});
  facts.form = Form::decoder;
  facts.layers = read_size(config, {"n_layer", "num_hidden_layers"});
  facts.width = read_size(config, {"n_embd", "hidden_size"});
  facts.heads = share_evenly(config, facts.width, read_size(config, {"n_head", "num_attention_heads"}));
  facts.vocabulary = read_size(config, {"vocab_size"});
  facts.max_tokens = read_size(config, {"n_positions", "max_position_embeddings"});
  facts.has_logits = config.flag({"tie_word_embeddings"}, true);
  read_token_ids(config, facts);
  return facts;
}

std::unique_ptr<Model> make_gpt2(const Config& config, Weights& weights) {
  return std::make_unique<Gpt2>(config, std::move(weights));
}

}  // namespace attn::model
