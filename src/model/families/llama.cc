// Llama (Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023), Mistral and Qwen2. The three
// share their layers; Mistral limits attention to a sliding window, and Qwen2 has biases in its q, k and v projections.
//
//   x = x + out(attention(turned q, turned k, v))   q, k, v = projections of norm(x); rotary positions; grouped heads
//   x = x + down(silu(gate y) * up y)               y = norm(x)
//
// All norms are RMS norms. A projection has a bias if the file has one.

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.h"
#include "attn/error.h"
#include "model/families/activation_name.h"
#include "model/families/facts.h"
#include "model/families/families.h"
#include "model/families/layers.h"
#include "model/families/rope_variants.h"
#include "model/run/attend.h"
#include "nn/infer/embedding.h"
#include "nn/infer/linear.h"
#include "nn/infer/norm.h"

namespace attn::model {
namespace {

struct LlamaLayer {
  nn::RmsNorm attention_norm, feed_norm;
  nn::Linear qkv, out;
  nn::Linear gate_up, down;
  bool windowed = false;
};

HeadShape read_heads(const Config& config, std::int64_t width) {
  const std::int64_t heads = read_size(config, {"num_attention_heads"});
  HeadShape shape;
  if (config.has({"head_dim"})) {
    shape = {.heads = heads, .key_heads = heads, .width = read_size(config, {"head_dim"})};
    if (shape.width > kMaxWidth) {
      throw Error(config.path(), "head_dim is " + std::to_string(shape.width) + "; at most " +
                                     std::to_string(kMaxWidth) + " is supported");
    }
  } else {
    shape = share_evenly(config, width, heads);
  }
  shape.key_heads = read_size(config, {"num_key_value_heads"}, heads);
  if (heads % shape.key_heads != 0) {
    throw Error(config.path(), std::to_string(heads) + " query heads cannot share " + std::to_string(shape.key_heads) +
                                   " key heads evenly");
  }
  return shape;
}

// Keys that a query of a windowed layer sees, itself included; 0: no layer has a window.
std::int64_t read_window(const Config& config) {
  const std::string type = config.text({"model_type"});
  const bool on = type == "mistral" || (type == "qwen2" && config.flag({"use_sliding_window"}, false));
  return on && config.has({"sliding_window"}) ? read_size(config, {"sliding_window"}) : 0;
}

// Which layers have the window: all of Mistral's. Qwen2 lists them by layer, or names the first one.
std::vector<bool> windowed_layers(const Config& config, std::int64_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  std::vector<bool> windowed(count, read_window(config) > 0);
  if (read_window(config) == 0 || config.text({"model_type"}) != "qwen2") return windowed;
  const std::vector<std::string> types = config.texts({"layer_types"});
  if (!types.empty() && types.size() != count) {
    throw Error(config.path(), "layer_types lists " + std::to_string(types.size()) + " layers, but the model has " +
                                   std::to_string(count));
  }
  const std::int64_t first = config.integer({"max_window_layers"}, 28);
  for (std::size_t l = 0; l < count; ++l) {
    windowed[l] = types.empty() ? static_cast<std::int64_t>(l) >= first : types[l] == "sliding_attention";
    if (!types.empty() && !windowed[l] && types[l] != "full_attention") {
      throw Error(config.path(), "layer_types has '" + types[l] + "'; expected full_attention or sliding_attention");
    }
  }
  return windowed;
}

class Llama final : public Model {
 public:
  Llama(const Config& config, Weights&& weights);

 private:
  nn::Matrix do_decode(const Batch& batch, const Pass& pass) const override;
  nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool& pool) const override;
  nn::Weight do_output_projection(Kind kind, std::int64_t layer) const override;

  [[nodiscard]] LlamaLayer make_layer(const Config& config, std::int64_t l) const;
  [[nodiscard]] nn::RmsNorm norm(const std::string& name, double epsilon) const;
  [[nodiscard]] nn::RopeTable turns(const Batch& batch, const Attend& attend) const;
  [[nodiscard]] Rule rule(std::int64_t window) const;

  Weights weights_;  // the embedding is a view into the file
  AnyView<2> tokens_;
  std::vector<LlamaLayer> layers_;
  nn::RmsNorm norm_;
  nn::Linear head_;
  RopeVariant rope_;
  nn::Activation activation_;
  std::int64_t feed_width_;
  std::int64_t window_;
  bool all_windowed_ = true;
};

Llama::Llama(const Config& config, Weights&& weights)
    : Model(llama_facts(config)),
      weights_(std::move(weights)),
      rope_(config, facts_.heads.width),
      activation_(parse_activation(config, {"hidden_act"}, "silu")),
      feed_width_(read_size(config, {"intermediate_size"})),
      window_(read_window(config)) {
  weights_.set_prefix("model.");
  tokens_ = weights_.matrix("embed_tokens.weight", facts_.vocabulary, facts_.width);
  const std::vector<bool> windowed = windowed_layers(config, facts_.layers);
  for (std::int64_t l = 0; l < facts_.layers; ++l) {
    layers_.push_back(make_layer(config, l));
    layers_.back().windowed = windowed[static_cast<std::size_t>(l)];
    all_windowed_ = all_windowed_ && layers_.back().windowed;
  }
  norm_ = norm("norm", config.number({"rms_norm_eps"}, 1e-6));
  if (config.flag({"tie_word_embeddings"}, false)) {
    head_ = linear_of(weights_, {{.matrix = tokens_}});
  } else if (weights_.has("lm_head.weight")) {
    head_ = linear_of(weights_, {weights_.linear("lm_head", facts_.width, facts_.vocabulary)});
  }
  facts_.has_logits = !head_.empty();
  facts_.parameters = weights_.parameters();
  facts_.bytes = weights_.bytes();
}

nn::RmsNorm Llama::norm(const std::string& name, double epsilon) const {
  return {.weight = weights_.floats(name + ".weight", facts_.width), .epsilon = static_cast<float>(epsilon)};
}

nn::Weight Llama::do_output_projection(Kind, std::int64_t layer) const {
  return weights_.linear("layers." + std::to_string(layer) + ".self_attn.o_proj", facts_.heads.query_columns(),
                         facts_.width);
}

LlamaLayer Llama::make_layer(const Config& config, std::int64_t l) const {
  const std::string name = "layers." + std::to_string(l) + ".";
  const double epsilon = config.number({"rms_norm_eps"}, 1e-6);
  const std::int64_t q = facts_.heads.query_columns();
  const std::int64_t k = facts_.heads.key_columns();
  const auto linear = [&](const char* part, std::int64_t in, std::int64_t out) {
    return weights_.linear(name + part, in, out);
  };
  return {.attention_norm = norm(name + "input_layernorm", epsilon),
          .feed_norm = norm(name + "post_attention_layernorm", epsilon),
          .qkv = linear_of(weights_,
                           {linear("self_attn.q_proj", facts_.width, q), linear("self_attn.k_proj", facts_.width, k),
                            linear("self_attn.v_proj", facts_.width, k)}),
          .out = linear_of(weights_, {do_output_projection(Kind::self, l)}),
          .gate_up = linear_of(weights_, {linear("mlp.gate_proj", facts_.width, feed_width_),
                                          linear("mlp.up_proj", facts_.width, feed_width_)}),
          .down = linear_of(weights_, {linear("mlp.down_proj", feed_width_, facts_.width)})};
}

Rule Llama::rule(std::int64_t window) const {
  return {.causal = true, .window = window, .scale = 1 / std::sqrt(static_cast<float>(facts_.heads.width))};
}

// Some variants choose frequencies by sequence length, so each sequence gets its own.
nn::RopeTable Llama::turns(const Batch& batch, const Attend& attend) const {
  nn::RopeTable table(batch.tokens(), rope_.pairs());
  for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s) {
    const std::int64_t first = batch.starts[s];
    const auto rows = attend.positions().subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(batch.starts[s + 1] - first));
    table.fill(first, rows, rope_.at(attend.length(s)));
  }
  return table;
}

nn::Matrix Llama::do_decode(const Batch& batch, const Pass& pass) const {
  ThreadPool& pool = pass.pool;
  const std::int64_t rows = batch.tokens();
  const HeadShape& heads = facts_.heads;
  nn::Matrix x(rows, facts_.width);
  nn::Matrix y(rows, facts_.width);
  nn::Matrix mixed(rows, heads.query_columns());
  nn::Matrix gate(rows, feed_width_);
  nn::Matrix up(rows, feed_width_);

  Attend attend(Kind::self, heads, rule(all_windowed_ ? window_ : 0), batch, pass);
  std::optional<Attend> near;  // of windowed layers, if other layers have no window
  if (window_ > 0 && !all_windowed_) near.emplace(Kind::self, heads, rule(window_), batch, pass);
  const nn::RopeTable turn = turns(batch, attend);

  nn::embed(tokens_, batch.ids, x.view());
  pass.keep_hidden(false, 0, x.view());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LlamaLayer& layer = layers_[l];
    Attend& attention = near && layer.windowed ? *near : attend;
    layer.attention_norm(x.view(), y.view(), pool);
    const Attend::Rows qkv = attention.rows(static_cast<std::int64_t>(l), y.view());
    layer.qkv(y.view(), {qkv.q, qkv.k, qkv.v}, pool);
    turn.turn(qkv.q, heads.heads, pool);
    turn.turn(qkv.k, heads.key_heads, pool);
    attention.mix(static_cast<std::int64_t>(l), mixed.view());
    layer.out(mixed.view(), x.view(), pool, {.add = x.view()});

    layer.feed_norm(x.view(), y.view(), pool);
    layer.gate_up(y.view(), {gate.view(), up.view()}, pool);
    nn::activate_gate(gate.view(), up.view(), activation_, pool);
    layer.down(gate.view(), x.view(), pool, {.add = x.view()});
    if (l + 1 < layers_.size()) pass.keep_hidden(false, l + 1, x.view());
  }
  norm_(x.view(), x.view(), pool);
  pass.keep_hidden(false, layers_.size(), x.view());
  return x;
}

nn::Matrix Llama::do_logits(View<const float, 2> hidden, ThreadPool& pool) const {
  nn::Matrix logits(hidden.shape[0], facts_.vocabulary);
  head_(hidden, logits.view(), pool);
  return logits;
}

}  // namespace

Facts llama_facts(const Config& config) {
  Facts facts;
  facts.type = config.text({"model_type"});
  facts.form = Form::decoder;
  facts.layers = read_size(config, {"num_hidden_layers"});
  facts.width = read_size(config, {"hidden_size"});
  facts.heads = read_heads(config, facts.width);
  facts.vocabulary = read_size(config, {"vocab_size"});
  facts.trained_tokens = RopeVariant(config, facts.heads.width).trained_tokens();
  windowed_layers(config, facts.layers);  // throws if the configuration is inconsistent
  read_token_ids(config, facts);
  return facts;
}

std::unique_ptr<Model> make_llama(const Config& config, Weights& weights) {
  return std::make_unique<Llama>(config, std::move(weights));
}

}  // namespace attn::model
