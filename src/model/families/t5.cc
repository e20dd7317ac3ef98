// T5 (Raffel et al.: Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, JMLR 2020),
// with T5 1.1 and mT5, which have gated feed-forward layers and an output head separate from the embedding.
//
//   x = x + self(norm(x))     scores are not scaled; a learned bias per bucket of distances and head is added to them,
//                             in every layer from the first layer's table
//   x = x + cross(norm(x))    decoder only; these scores have no bias
//   x = x + feed(norm(x))     wo f(wi x), or gated: wo (f(wi_0 x) * wi_1 x)
//
// All norms are RMS norms, and no product has a bias.

#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/bias.h"
#include "attn/error.h"
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

struct T5SelfAttention {
  nn::RmsNorm norm;
  nn::Linear qkv, out;
};

// q is projected from the decoder's rows, k and v from the encoder's. With a cache, k and v are projected only once.
struct T5CrossAttention {
  nn::RmsNorm norm;
  nn::Linear q, kv, out;
};

struct T5FeedForward {
  nn::RmsNorm norm;
  nn::Linear in;  // one matrix, or two: gate and up
  nn::Linear out;
};

struct T5Block {
  T5SelfAttention self;
  std::optional<T5CrossAttention> cross;  // decoder only
  T5FeedForward feed;
};

struct T5Stack {
  bool decoder = false;
  AnyView<2> tokens;  // [vocabulary, width], a view into the file
  Rule rule;          // of self-attention
  std::vector<T5Block> blocks;
  nn::RmsNorm norm;
};

// Buffers that the layers of one pass reuse; T rows each.
struct T5Scratch {
  nn::Matrix x;         // [T, width], the residual stream
  nn::Matrix normed;    // [T, width]
  nn::Matrix mixed;     // [T, H D]
  nn::Matrix wide, up;  // [T, feed-forward width]; up only if gated
};

struct FeedForwardKind {
  bool gated = false;
  nn::Activation activation = nn::Activation::relu;
  std::int64_t width = 0;
};

// "relu", "gelu", "gated-silu" and so on. "gated-gelu" means the tanh approximation; plain "gelu" does not.
FeedForwardKind feed_forward_kind(const Config& config, const std::string& type) {
  constexpr std::string_view kGated = "gated-";
  std::string name = config.text({"feed_forward_proj"}, type == "mt5" ? "gated-gelu" : "relu");
  const bool gated = name.starts_with(kGated);
  if (gated) name = name == "gated-gelu" ? "gelu_new" : name.substr(kGated.size());
  return {.gated = gated, .activation = parse_activation(name, config.path()), .width = read_size(config, {"d_ff"})};
}

T5Buckets bucket_rule(const Config& config, bool decoder) {
  const T5Buckets rule{.bidirectional = !decoder,
                       .buckets = read_size(config, {"relative_attention_num_buckets"}, 32),
                       .max_distance = read_size(config, {"relative_attention_max_distance"}, 128)};
  try {
    static_cast<void>(t5_bucket(0, rule));
  } catch (const std::invalid_argument& wrong) {
    throw Error(config.path(), wrong.what());
  }
  return rule;
}

// Builds the stacks from stored tensors.
class T5Loader {
 public:
  T5Loader(const Config& config, const Facts& facts, const Weights& weights)
      : config_(config), facts_(facts), weights_(weights), feed_(feed_forward_kind(config, facts.type)) {}

  [[nodiscard]] T5Stack stack(bool decoder) const {
    const std::string name = decoder ? "decoder" : "encoder";
    T5Stack stack;
    stack.decoder = decoder;
    stack.tokens = table({name + ".embed_tokens.weight", "shared.weight"});
    stack.rule = {.causal = decoder, .scale = 1, .bias = bias(name, decoder)};
    const std::int64_t layers = decoder ? facts_.decoder_layers : facts_.layers;
    for (std::int64_t i = 0; i < layers; ++i) {
      stack.blocks.push_back(block(name + ".block." + std::to_string(i) + ".layer.", decoder));
    }
    stack.norm = norm(name + ".final_layer_norm");
    return stack;
  }

  [[nodiscard]] AnyView<2> table(std::vector<std::string> names) const {
    return shared_table(weights_, std::move(names), facts_);
  }

 private:
  [[nodiscard]] T5Block block(const std::string& name, bool decoder) const {
    const std::int64_t width = facts_.width, inner = facts_.heads.query_columns();
    const auto linear = [&](const std::string& part, std::int64_t in, std::int64_t out) {
      return weights_.linear(name + part, in, out);
    };
    T5Block block;
    const std::string self = "0.SelfAttention.", cross = "1.EncDecAttention.", last = decoder ? "2" : "1";
    block.self.norm = norm(name + "0.layer_norm");
    block.self.qkv = linear_of(weights_, {linear(self + "q", width, inner), linear(self + "k", width, inner),
                                          linear(self + "v", width, inner)});
    block.self.out = linear_of(weights_, {linear(self + "o", inner, width)});
    if (decoder) {
      T5CrossAttention& across = block.cross.emplace();
      across.norm = norm(name + "1.layer_norm");
      across.q = linear_of(weights_, {linear(cross + "q", width, inner)});
      across.kv = linear_of(weights_, {linear(cross + "k", width, inner), linear(cross + "v", width, inner)});
      across.out = linear_of(weights_, {linear(cross + "o", inner, width)});
    }
    const std::string dense = last + ".DenseReluDense.";
    block.feed.norm = norm(name + last + ".layer_norm");
    block.feed.in = feed_.gated ? linear_of(weights_, {linear(dense + "wi_0", width, feed_.width),
                                                       linear(dense + "wi_1", width, feed_.width)})
                                : linear_of(weights_, {linear(dense + "wi", width, feed_.width)});
    block.feed.out = linear_of(weights_, {linear(dense + "wo", feed_.width, width)});
    return block;
  }

  [[nodiscard]] nn::RmsNorm norm(const std::string& name) const {
    return {.weight = weights_.floats(name + ".weight", facts_.width),
            .epsilon = static_cast<float>(config_.number({"layer_norm_epsilon"}, 1e-6))};
  }

  [[nodiscard]] std::shared_ptr<const BucketBias> bias(const std::string& stack, bool decoder) const {
    const T5Buckets rule = bucket_rule(config_, decoder);
    const std::int64_t heads = facts_.heads.heads;
    const AnyView<2> stored =
        weights_.matrix(stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", rule.buckets, heads);
    auto bias = std::make_shared<BucketBias>(BucketBias{nn::Matrix(rule.buckets, heads), rule});
    std::vector<std::int32_t> rows(static_cast<std::size_t>(rule.buckets));
    std::iota(rows.begin(), rows.end(), 0);
    nn::embed(stored, rows, bias->table.view());
    return bias;
  }

  const Config& config_;
  const Facts& facts_;
  const Weights& weights_;
  FeedForwardKind feed_;
};

class T5 final : public Model {
 public:
  T5(const Config& config, Weights& weights)
      : Model(t5_facts(config)), weights_(std::move(weights)), feed_(feed_forward_kind(config, facts_.type)) {
    weights_.set_prefix("transformer.");  // used by files with a classifier on top
    if (!weights_.has("decoder.final_layer_norm.weight")) make_encoder(facts_);
    facts_.has_logits = facts_.form == Form::encoder_decoder;
    facts_.parameters = weights_.parameters();
    facts_.bytes = weights_.bytes();

    const T5Loader loader(config, facts_, weights_);
    encoder_ = loader.stack(false);
    if (facts_.form == Form::encoder) return;
    decoder_ = loader.stack(true);
    head_ = linear_of(weights_, {{.matrix = loader.table({"lm_head.weight", "shared.weight"})}});
    // T5 1.0 ties input and output embeddings and scales the decoder's output to compensate. tie_word_embeddings tells;
    // files that tie them in any case use scale_decoder_outputs. mT5 never scales.
    const bool scaled = config.flag({"scale_decoder_outputs", "tie_word_embeddings"}, true) && facts_.type != "mt5";
    if (scaled) head_scale_ = static_cast<float>(1 / std::sqrt(static_cast<double>(facts_.width)));
  }

  // Some files hold only the encoder.
  static void make_encoder(Facts& facts) {
    facts.form = Form::encoder;
    facts.decoder_layers = 0;
    facts.decoder_heads = {};
    facts.decoder_start = -1;
  }

 private:
  nn::Matrix do_encode(const Batch& batch, const Pass& pass) const override { return run(encoder_, batch, pass); }
  nn::Matrix do_decode(const Batch& batch, const Pass& pass) const override { return run(decoder_, batch, pass); }

  nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool& pool) const override {
    nn::Matrix scaled(hidden.shape[0], hidden.shape[1]);
    for (std::int64_t i = 0; i < scaled.rows(); ++i) {
      for (std::int64_t c = 0; c < scaled.columns(); ++c) scaled.row(i)[c] = hidden(i, c) * head_scale_;
    }
    nn::Matrix logits(hidden.shape[0], facts_.vocabulary);
    head_(scaled.view(), logits.view(), pool);
    return logits;
  }

  nn::Weight do_output_projection(Kind kind, std::int64_t layer) const override {
    const std::string stack = kind == Kind::self ? "encoder" : "decoder";
    const std::string part = kind == Kind::cross ? ".layer.1.EncDecAttention.o" : ".layer.0.SelfAttention.o";
    return weights_.linear(stack + ".block." + std::to_string(layer) + part, facts_.heads.query_columns(),
                           facts_.width);
  }

  nn::Matrix run(const T5Stack& stack, const Batch& batch, const Pass& pass) const {
    const std::int64_t tokens = batch.tokens();
    T5Scratch s{.x = nn::Matrix(tokens, facts_.width),
                .normed = nn::Matrix(tokens, facts_.width),
                .mixed = nn::Matrix(tokens, facts_.heads.query_columns()),
                .wide = nn::Matrix(tokens, feed_.width),
                .up = feed_.gated ? nn::Matrix(tokens, feed_.width) : nn::Matrix()};
    const auto keep = [&](std::int64_t index) {
      pass.keep_hidden(stack.decoder, static_cast<std::size_t>(index), s.x.view());
    };
    Attend self(stack.decoder ? Kind::decoder : Kind::self, facts_.heads, stack.rule, batch, pass);
    std::optional<Attend> cross;
    if (stack.decoder) cross.emplace(Attend::cross(facts_.heads, Rule{.scale = 1}, batch, pass));

    nn::embed(stack.tokens, batch.ids, s.x.view());
    std::int64_t layer = 0;
    for (const T5Block& block : stack.blocks) {
      keep(layer);
      look_around(block.self, layer, self, s, pass.pool);
      if (block.cross && cross) look_across(*block.cross, layer, *cross, s, pass);
      feed_forward(block.feed, s, pass.pool);
      ++layer;
    }
    stack.norm(s.x.view(), s.x.view(), pass.pool);
    keep(layer);
    return std::move(s.x);
  }

  static void look_around(const T5SelfAttention& self, std::int64_t layer, Attend& attend, T5Scratch& s,
                          ThreadPool& pool) {
    self.norm(s.x.view(), s.normed.view(), pool);
    const Attend::Rows rows = attend.rows(layer, s.normed.view());
    self.qkv(s.normed.view(), {rows.q, rows.k, rows.v}, pool);
    attend.mix(layer, s.mixed.view());
    self.out(s.mixed.view(), s.x.view(), pool, {.add = s.x.view()});
  }

  static void look_across(const T5CrossAttention& cross, std::int64_t layer, Attend& attend, T5Scratch& s,
                          const Pass& pass) {
    cross.norm(s.x.view(), s.normed.view(), pass.pool);
    const Attend::Rows rows = attend.rows(layer, s.normed.view());
    cross.q(s.normed.view(), rows.q, pass.pool);
    if (!rows.k.empty()) cross.kv(pass.memory->hidden.view(), {rows.k, rows.v}, pass.pool);
    attend.mix(layer, s.mixed.view());
    cross.out(s.mixed.view(), s.x.view(), pass.pool, {.add = s.x.view()});
  }

  void feed_forward(const T5FeedForward& feed, T5Scratch& s, ThreadPool& pool) const {
    feed.norm(s.x.view(), s.normed.view(), pool);
    if (feed_.gated) {
      feed.in(s.normed.view(), {s.wide.view(), s.up.view()}, pool);
      nn::activate_gate(s.wide.view(), s.up.view(), feed_.activation, pool);
    } else {
      feed.in(s.normed.view(), s.wide.view(), pool, {.activation = feed_.activation});
    }
    feed.out(s.wide.view(), s.x.view(), pool, {.add = s.x.view()});
  }

  Weights weights_;  // the embeddings are views into its files
  FeedForwardKind feed_;
  T5Stack encoder_, decoder_;
  float head_scale_ = 1;
  nn::Linear head_;
};

}  // namespace

Facts t5_facts(const Config& config) {
  Facts facts;
  facts.type = config.text({"model_type"});
  facts.form = Form::encoder_decoder;
  facts.layers = read_size(config, {"num_layers"});
  facts.decoder_layers = read_size(config, {"num_decoder_layers", "num_layers"});
  const std::int64_t heads = read_size(config, {"num_heads"});
  facts.heads = facts.decoder_heads = share_evenly(config, heads * read_size(config, {"d_kv"}), heads);
  facts.width = read_size(config, {"d_model"});
  facts.vocabulary = read_size(config, {"vocab_size"});
  read_token_ids(config, facts);
  if (facts.pad < 0) facts.pad = 0;
  if (facts.eos.empty()) facts.eos = {1};
  if (facts.decoder_start < 0) facts.decoder_start = facts.pad;
  if (!config.flag({"is_encoder_decoder"}, true)) T5::make_encoder(facts);
  return facts;
}

std::unique_ptr<Model> make_t5(const Config& config, Weights& weights) { return std::make_unique<T5>(config, weights); }

}  // namespace attn::model
