// BART (Lewis et al.: Denoising Sequence-to-Sequence Pre-training for Natural Language Generation, Translation, and
// Comprehension, ACL 2020). The original Transformer, with learned positions and a norm on the embeddings:
//
//   x = norm(tokens + positions)
//   x = norm(x + self(x))
//   x = norm(x + cross(x))    decoder only
//   x = norm(x + fc2 f(fc1 x))

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/families/activation_name.h"
#include "model/families/facts.h"
#include "model/families/families.h"
#include "model/families/layers.h"
#include "model/run/attend.h"
#include "nn/infer/embedding.h"
#include "nn/infer/linear.h"
#include "nn/infer/norm.h"

namespace attn::model {
namespace {

constexpr std::int64_t kFirstPosition = 2;  // the table's first rows belong to padding and are never used
constexpr double kEpsilon = 1e-5;           // no configuration changes it

struct BartSelfAttention {
  nn::Linear qkv, out;
  nn::LayerNorm norm;
};

// q is projected from the decoder's rows, k and v from the encoder's. With a cache, k and v are projected only once.
struct BartCrossAttention {
  nn::Linear q, kv, out;
  nn::LayerNorm norm;
};

struct BartFeedForward {
  nn::Linear in, out;
  nn::LayerNorm norm;
};

struct BartLayer {
  BartSelfAttention self;
  std::optional<BartCrossAttention> cross;  // decoder only
  BartFeedForward feed;
};

struct BartStack {
  bool decoder = false;
  HeadShape heads;
  AnyView<2> tokens;     // [vocabulary, width], a view into the file
  AnyView<2> positions;  // [kFirstPosition + max_tokens, width], a view into the file
  nn::LayerNorm norm;    // of the embeddings
  std::vector<BartLayer> layers;
  std::int64_t feed_width = 0;
};

// Buffers that the layers of one pass reuse; T rows each.
struct BartScratch {
  nn::Matrix x;      // [T, width]
  nn::Matrix mixed;  // [T, H D]
  nn::Matrix wide;   // [T, feed-forward width]
};

// Builds the stacks from stored tensors.
class BartLoader {
 public:
  BartLoader(const Config& config, const Facts& facts, const Weights& weights)
      : config_(config), facts_(facts), weights_(weights) {}

  [[nodiscard]] BartStack stack(bool decoder) const {
    const std::string name = decoder ? "decoder." : "encoder.";
    BartStack stack;
    stack.decoder = decoder;
    stack.heads = decoder ? facts_.decoder_heads : facts_.heads;
    stack.feed_width = read_size(config_, {decoder ? "decoder_ffn_dim" : "encoder_ffn_dim"});
    stack.tokens = table({name + "embed_tokens.weight", "shared.weight"});
    stack.positions =
        weights_.matrix(name + "embed_positions.weight", kFirstPosition + facts_.max_tokens, facts_.width);
    stack.norm = norm(name + "layernorm_embedding");
    const std::int64_t layers = decoder ? facts_.decoder_layers : facts_.layers;
    for (std::int64_t i = 0; i < layers; ++i) {
      stack.layers.push_back(layer(name + "layers." + std::to_string(i) + ".", stack));
    }
    return stack;
  }

  [[nodiscard]] AnyView<2> table(std::vector<std::string> names) const {
    return shared_table(weights_, std::move(names), facts_);
  }

 private:
  [[nodiscard]] BartLayer layer(const std::string& name, const BartStack& stack) const {
    const std::int64_t width = facts_.width;
    const auto square = [&](const std::string& part) { return weights_.linear(name + part, width, width); };
    BartLayer layer;
    layer.self.qkv =
        linear_of(weights_, {square("self_attn.q_proj"), square("self_attn.k_proj"), square("self_attn.v_proj")});
    layer.self.out = linear_of(weights_, {square("self_attn.out_proj")});
    layer.self.norm = norm(name + "self_attn_layer_norm");
    if (stack.decoder) {
      BartCrossAttention& cross = layer.cross.emplace();
      cross.q = linear_of(weights_, {square("encoder_attn.q_proj")});
      cross.kv = linear_of(weights_, {square("encoder_attn.k_proj"), square("encoder_attn.v_proj")});
      cross.out = linear_of(weights_, {square("encoder_attn.out_proj")});
      cross.norm = norm(name + "encoder_attn_layer_norm");
    }
    layer.feed.in = linear_of(weights_, {weights_.linear(name + "fc1", width, stack.feed_width)});
    layer.feed.out = linear_of(weights_, {weights_.linear(name + "fc2", stack.feed_width, width)});
    layer.feed.norm = norm(name + "final_layer_norm");
    return layer;
  }

  [[nodiscard]] nn::LayerNorm norm(const std::string& name) const {
    return layer_norm(weights_, name, facts_.width, kEpsilon);
  }

  const Config& config_;
  const Facts& facts_;
  const Weights& weights_;
};

class Bart final : public Model {
 public:
  Bart(const Config& config, Weights& weights)
      : Model(bart_facts(config)),
        weights_(std::move(weights)),
        activation_(parse_activation(config, {"activation_function"}, "gelu")) {
    weights_.set_prefix("model.");
    facts_.has_logits = weights_.has("lm_head.weight") || config.flag({"tie_word_embeddings"}, true);
    facts_.parameters = weights_.parameters();
    facts_.bytes = weights_.bytes();

    const BartLoader loader(config, facts_, weights_);
    encoder_ = loader.stack(false);
    decoder_ = loader.stack(true);
    if (config.flag({"scale_embedding"}, false)) token_scale_ = std::sqrt(static_cast<float>(facts_.width));
    nn::Weight head{.matrix = loader.table({"lm_head.weight", "shared.weight"})};
    if (weights_.has("final_logits_bias")) {
      const AnyView<2> bias = weights_.matrix("final_logits_bias", 1, facts_.vocabulary);
      head.bias = {bias.data, bias.type, {facts_.vocabulary}, {1}};
    }
    head_ = linear_of(weights_, {head});
  }

 private:
  nn::Matrix do_encode(const Batch& batch, const Pass& pass) const override { return run(encoder_, batch, pass); }
  nn::Matrix do_decode(const Batch& batch, const Pass& pass) const override { return run(decoder_, batch, pass); }

  nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool& pool) const override {
    nn::Matrix logits(hidden.shape[0], facts_.vocabulary);
    head_(hidden, logits.view(), pool);
    return logits;
  }

  nn::Weight do_output_projection(Kind kind, std::int64_t layer) const override {
    const std::string stack = kind == Kind::self ? "encoder" : "decoder";
    const std::string part = kind == Kind::cross ? ".encoder_attn.out_proj" : ".self_attn.out_proj";
    return weights_.linear(stack + ".layers." + std::to_string(layer) + part, facts_.width, facts_.width);
  }

  nn::Matrix run(const BartStack& stack, const Batch& batch, const Pass& pass) const {
    const std::int64_t tokens = batch.tokens();
    BartScratch s{.x = nn::Matrix(tokens, facts_.width),
                  .mixed = nn::Matrix(tokens, stack.heads.query_columns()),
                  .wide = nn::Matrix(tokens, stack.feed_width)};
    const auto keep = [&](std::int64_t index) {
      pass.keep_hidden(stack.decoder, static_cast<std::size_t>(index), s.x.view());
    };
    const Rule among{.causal = stack.decoder, .scale = 1 / std::sqrt(static_cast<float>(stack.heads.width))};
    Attend self(stack.decoder ? Kind::decoder : Kind::self, stack.heads, among, batch, pass);
    std::optional<Attend> cross;
    if (stack.decoder) cross.emplace(Attend::cross(stack.heads, Rule{.scale = among.scale}, batch, pass));

    embed(stack, batch, self.positions(), s.x);
    stack.norm(s.x.view(), s.x.view(), pass.pool);
    keep(0);
    std::int64_t index = 0;
    for (const BartLayer& layer : stack.layers) {
      look_around(layer.self, index, self, s, pass.pool);
      if (layer.cross && cross) look_across(*layer.cross, index, *cross, s, pass);
      feed_forward(layer.feed, s, pass.pool);
      keep(++index);
    }
    return std::move(s.x);
  }

  void embed(const BartStack& stack, const Batch& batch, std::span<const std::int64_t> positions, nn::Matrix& x) const {
    nn::embed(stack.tokens, batch.ids, x.view());
    if (token_scale_ != 1) {
      for (float& value : std::span(x.data(), static_cast<std::size_t>(x.rows() * x.columns()))) value *= token_scale_;
    }
    std::vector<std::int32_t> rows(positions.size());
    std::ranges::transform(positions, rows.begin(),
                           [](std::int64_t at) { return static_cast<std::int32_t>(at + kFirstPosition); });
    nn::add_embedded(stack.positions, rows, x.view());
  }

  static void look_around(const BartSelfAttention& self, std::int64_t layer, Attend& attend, BartScratch& s,
                          ThreadPool& pool) {
    const Attend::Rows rows = attend.rows(layer, s.x.view());
    self.qkv(s.x.view(), {rows.q, rows.k, rows.v}, pool);
    attend.mix(layer, s.mixed.view());
    self.out(s.mixed.view(), s.x.view(), pool, {.add = s.x.view()});
    self.norm(s.x.view(), s.x.view(), pool);
  }

  static void look_across(const BartCrossAttention& cross, std::int64_t layer, Attend& attend, BartScratch& s,
                          const Pass& pass) {
    const Attend::Rows rows = attend.rows(layer, s.x.view());
    cross.q(s.x.view(), rows.q, pass.pool);
    if (!rows.k.empty()) cross.kv(pass.memory->hidden.view(), {rows.k, rows.v}, pass.pool);
    attend.mix(layer, s.mixed.view());
    cross.out(s.mixed.view(), s.x.view(), pass.pool, {.add = s.x.view()});
    cross.norm(s.x.view(), s.x.view(), pass.pool);
  }

  void feed_forward(const BartFeedForward& feed, BartScratch& s, ThreadPool& pool) const {
    feed.in(s.x.view(), s.wide.view(), pool, {.activation = activation_});
    feed.out(s.wide.view(), s.x.view(), pool, {.add = s.x.view()});
    feed.norm(s.x.view(), s.x.view(), pool);
  }

  Weights weights_;  // the embeddings are views into its files
  nn::Activation activation_;
  BartStack encoder_, decoder_;
  float token_scale_ = 1;
  nn::Linear head_;
};

}  // namespace

Facts bart_facts(const Config& config) {
  Facts facts;
  facts.type = config.text({"model_type"});
  facts.form = Form::encoder_decoder;
  facts.layers = read_size(config, {"encoder_layers"});
  facts.decoder_layers = read_size(config, {"decoder_layers"});
  facts.width = read_size(config, {"d_model"});
  facts.heads = share_evenly(config, facts.width, read_size(config, {"encoder_attention_heads"}));
  facts.decoder_heads = share_evenly(config, facts.width, read_size(config, {"decoder_attention_heads"}));
  facts.vocabulary = read_size(config, {"vocab_size"});
  facts.max_tokens = read_size(config, {"max_position_embeddings"}, 1024);
  read_token_ids(config, facts);
  if (facts.bos < 0) facts.bos = 0;
  if (facts.pad < 0) facts.pad = 1;
  if (facts.eos.empty()) facts.eos = {2};
  if (facts.decoder_start < 0) facts.decoder_start = facts.eos.front();
  return facts;
}

std::unique_ptr<Model> make_bart(const Config& config, Weights& weights) {
  return std::make_unique<Bart>(config, weights);
}

}  // namespace attn::model
