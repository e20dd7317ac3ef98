// BERT (Devlin et al., 2018), DistilBERT (Sanh et al., 2019) and RoBERTa (Liu et al., 2019):
//
//   x = norm(word + type + position)
//   x = norm(x + W_o attention(x))      in every layer
//   x = norm(x + W_2 f(W_1 x + b_1))
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/error.h"
#include "model/families/activation_name.h"
#include "model/families/facts.h"
#include "model/families/families.h"
#include "model/families/layers.h"
#include "model/run/attend.h"
#include "model/run/distributed.h"
#include "nn/infer/embedding.h"

namespace attn::model {

namespace {

// Everything in which the three families differ. Tensor names omit ".weight" and ".bias". Every file has embeddings.*;
// the pooler and the heads are optional.
struct Dialect {
  const char* prefix;  // of all tensors but the head's, in files that hold a head or once did
  const char* layer;   // followed by the layer number and "."
  const char *query, *key, *value, *mix, *mix_norm;
  const char *up, *down, *norm;
  const char *head_dense, *head_norm, *head_decoder, *head_bias;  // head_bias is a whole tensor name
  const char *label_dense, *label_out;                            // of the classification head
  nn::Activation label_activation;                                // between these two
  bool types;                                                     // whether the model has token types
  bool positions_after_pad;  // positions count from pad + 1; padding itself is at position pad
  bool head_gelu;            // the head's activation is gelu, whatever the layers use
  std::int64_t pad;          // pad_token_id unless the configuration sets it
};

constexpr Dialect kBert = {
    .prefix = "bert.",
    .layer = "encoder.layer.",
    .query = "attention.self.query",
    .key = "attention.self.key",
    .value = "attention.self.value",
    .mix = "attention.output.dense",
    .mix_norm = "attention.output.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .norm = "output.LayerNorm",
    .head_dense = "cls.predictions.transform.dense",
    .head_norm = "cls.predictions.transform.LayerNorm",
    .head_decoder = "cls.predictions.decoder",
    .head_bias = "cls.predictions.bias",
    .label_dense = "pooler.dense",
    .label_out = "classifier",
    .label_activation = nn::Activation::tanh,
    .types = true,
    .positions_after_pad = false,
    .head_gelu = false,
    .pad = 0,
};

constexpr Dialect kDistilBert = {
    .prefix = "distilbert.",
    .layer = "transformer.layer.",
    .query = "attention.q_lin",
    .key = "attention.k_lin",
    .value = "attention.v_lin",
    .mix = "attention.out_lin",
    .mix_norm = "sa_layer_norm",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .norm = "output_layer_norm",
    .head_dense = "vocab_transform",
    .head_norm = "vocab_layer_norm",
    .head_decoder = "vocab_projector",
    .head_bias = "vocab_projector.bias",
    .label_dense = "pre_classifier",
    .label_out = "classifier",
    .label_activation = nn::Activation::relu,
    .types = false,
    .positions_after_pad = false,
    .head_gelu = false,
    .pad = 0,
};

constexpr Dialect kRoberta = [] {
  Dialect roberta = kBert;
  roberta.prefix = "roberta.";
  roberta.head_dense = "lm_head.dense";
  roberta.head_norm = "lm_head.layer_norm";
  roberta.head_decoder = "lm_head.decoder";
  roberta.head_bias = "lm_head.bias";
  roberta.label_dense = "classifier.dense";
  roberta.label_out = "classifier.out_proj";
  roberta.positions_after_pad = true;
  roberta.head_gelu = true;
  roberta.pad = 1;
  return roberta;
}();

const Dialect& dialect_of(const std::string& model_type) {
  if (model_type == "distilbert") return kDistilBert;
  return model_type == "bert" ? kBert : kRoberta;
}

// Throws for variants that are not an encoder with learned absolute positions.
void refuse_variants(const Config& config) {
  const std::string positions = config.text({"position_embedding_type"}, "absolute");
  if (positions != "absolute") {
    throw Error(config.path(), "position_embedding_type \"" + positions + "\" is not supported, only \"absolute\"");
  }
  if (config.flag({"is_decoder"}, false)) {
    throw Error(config.path(),
                "is_decoder true is not supported: a " + config.text({"model_type"}) + " is read as an encoder");
  }
}

struct BertLayer {
  nn::Linear qkv, mix, up, down;
  nn::LayerNorm mix_norm, norm;
};

class Bert final : public Model {
 public:
  Bert(const Config& config, Weights&& weights);

 protected:
  nn::Matrix do_encode(const Batch& batch, const Pass& pass) const override;
  nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool& pool) const override;
  nn::Matrix do_pooled(View<const float, 2> first_tokens, ThreadPool& pool) const override;
  nn::Matrix do_classify(View<const float, 2> first_tokens, ThreadPool& pool) const override;
  nn::Weight do_output_projection(Kind kind, std::int64_t layer) const override;

 private:
  BertLayer load_layer(std::int64_t index) const;
  void load_head(const Config& config);
  void load_label_head();
  nn::Matrix embed(const Batch& batch, const Pass& pass) const;
  std::vector<std::int32_t> positions(const Batch& batch) const;
  std::vector<std::int32_t> positions(const Batch& batch, const Pass& pass) const;
  std::vector<std::int32_t> types(const Batch& batch) const;

  const Dialect& dialect_;
  Weights weights_;  // the embeddings below are views into it
  std::int64_t inner_;
  double epsilon_;
  nn::Activation activation_;
  AnyView<2> words_, positions_, types_;  // [vocabulary, width], [positions, width], [types, width]
  nn::LayerNorm embedding_norm_;
  std::vector<BertLayer> layers_;
  nn::Linear pooler_;
  nn::Linear head_dense_;
  nn::LayerNorm head_norm_;
  nn::Linear head_decoder_;
  nn::Linear label_dense_, label_out_;
};

Bert::Bert(const Config& config, Weights&& weights)
    : Model(bert_facts(config)),
      dialect_(dialect_of(facts_.type)),
      weights_(std::move(weights)),
      inner_(read_size(config, {"intermediate_size", "hidden_dim"})),
      epsilon_(config.number({"layer_norm_eps"}, 1e-12)),
      activation_(parse_activation(config, {"hidden_act", "activation"}, "gelu")) {
  const std::int64_t width = facts_.width;
  if (weights_.has(dialect_.prefix + std::string("embeddings.word_embeddings.weight"))) {
    weights_.set_prefix(dialect_.prefix);
  }
  facts_.parameters = weights_.parameters();
  facts_.bytes = weights_.bytes();

  words_ = weights_.matrix("embeddings.word_embeddings.weight", facts_.vocabulary, width);
  positions_ =
      weights_.matrix("embeddings.position_embeddings.weight", read_size(config, {"max_position_embeddings"}), width);
  if (dialect_.types) {
    types_ =
        weights_.matrix("embeddings.token_type_embeddings.weight", read_size(config, {"type_vocab_size"}, 2), width);
  }
  embedding_norm_ = layer_norm(weights_, "embeddings.LayerNorm", width, epsilon_);
  for (std::int64_t i = 0; i < facts_.layers; ++i) layers_.push_back(load_layer(i));

  facts_.has_pooler = weights_.has("pooler.dense.weight");
  if (facts_.has_pooler) pooler_ = linear_of(weights_, {weights_.linear("pooler.dense", width, width)});
  load_head(config);
  load_label_head();
}

nn::Weight Bert::do_output_projection(Kind, std::int64_t layer) const {
  return weights_.linear(dialect_.layer + std::to_string(layer) + "." + dialect_.mix, facts_.width, facts_.width);
}

BertLayer Bert::load_layer(std::int64_t index) const {
  const std::int64_t width = facts_.width;
  const std::string layer = dialect_.layer + std::to_string(index) + ".";
  const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
    return weights_.linear(layer + name, in, out);
  };
  return {
      .qkv = linear_of(weights_, {linear(dialect_.query, width, width), linear(dialect_.key, width, width),
                                  linear(dialect_.value, width, width)}),
      .mix = linear_of(weights_, {do_output_projection(Kind::self, index)}),
      .up = linear_of(weights_, {linear(dialect_.up, width, inner_)}),
      .down = linear_of(weights_, {linear(dialect_.down, inner_, width)}),
      .mix_norm = layer_norm(weights_, layer + dialect_.mix_norm, width, epsilon_),
      .norm = layer_norm(weights_, layer + dialect_.norm, width, epsilon_),
  };
}

// The head maps back to words with the transposed embeddings, unless the file has a separate output matrix.
void Bert::load_head(const Config& config) {
  const std::string decoder = dialect_.head_decoder;
  const bool own = weights_.has(decoder + ".weight");
  facts_.has_logits =
      weights_.has(dialect_.head_dense + std::string(".weight")) && (own || config.flag({"tie_word_embeddings"}, true));
  if (!facts_.has_logits) return;
  head_dense_ = linear_of(weights_, {weights_.linear(dialect_.head_dense, facts_.width, facts_.width)});
  head_norm_ = layer_norm(weights_, dialect_.head_norm, facts_.width, epsilon_);
  nn::Weight weight = own ? weights_.linear(decoder, facts_.width, facts_.vocabulary) : nn::Weight{.matrix = words_};
  for (const std::string& bias : {std::string(dialect_.head_bias), decoder + ".bias"}) {
    if (weight.bias.empty() && weights_.has(bias)) weight.bias = weights_.vector(bias, facts_.vocabulary);
  }
  head_decoder_ = linear_of(weights_, {weight});
}

// Loads the classification head only if `architectures` names such a class: heads that label single tokens have tensors
// of the same names.
void Bert::load_label_head() {
  if (!weights_.has(dialect_.label_out + std::string(".weight"))) facts_.labels.clear();
  if (facts_.labels.empty()) return;
  label_dense_ = linear_of(weights_, {weights_.linear(dialect_.label_dense, facts_.width, facts_.width)});
  label_out_ = linear_of(weights_, {weights_.linear(dialect_.label_out, facts_.width, std::ssize(facts_.labels))});
}

std::vector<std::int32_t> Bert::positions(const Batch& batch) const {
  std::vector<std::int32_t> positions(batch.ids.size());
  for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s) {
    std::int32_t next = dialect_.positions_after_pad ? facts_.pad + 1 : 0;
    for (auto i = static_cast<std::size_t>(batch.starts[s]); i < static_cast<std::size_t>(batch.starts[s + 1]); ++i) {
      const bool padding = dialect_.positions_after_pad && batch.ids[i] == facts_.pad;
      positions[i] = padding ? facts_.pad : next++;
    }
  }
  return positions;
}

// Takes the whole text: how much padding precedes a row is unknown to a rank that holds only some rows.
std::vector<std::int32_t> Bert::positions(const Batch& batch, const Pass& pass) const {
  if (pass.whole == nullptr) return positions(batch);
  const std::vector<std::int32_t> all = positions(*pass.whole);
  const RingSplit split(pass.whole->tokens(), pass.ranks->size());
  return part_of(std::span<const std::int32_t>(all), split, pass.ranks->rank());
}

// A model with a single type ignores the batch's types: RoBERTa reads a pair of texts as one.
std::vector<std::int32_t> Bert::types(const Batch& batch) const {
  const std::int64_t count = types_.shape[0];
  if (batch.types.empty() || count == 1) return std::vector<std::int32_t>(batch.ids.size());
  for (const std::int32_t type : batch.types) {
    if (type < 0 || type >= count) {
      throw std::invalid_argument("token type " + std::to_string(type) + " is not one of the model's " +
                                  std::to_string(count));
    }
  }
  return batch.types;
}

nn::Matrix Bert::embed(const Batch& batch, const Pass& pass) const {
  nn::Matrix x(batch.tokens(), facts_.width);
  nn::embed(words_, batch.ids, x.view());
  if (dialect_.types) nn::add_embedded(types_, types(batch), x.view());
  nn::add_embedded(positions_, positions(batch, pass), x.view());
  embedding_norm_(x.view(), x.view(), pass.pool);
  return x;
}

nn::Matrix Bert::do_encode(const Batch& batch, const Pass& pass) const {
  ThreadPool& pool = pass.pool;
  nn::Matrix rows = embed(batch, pass);
  nn::Matrix mixed_rows(batch.tokens(), facts_.width), inner_rows(batch.tokens(), inner_);
  const View<float, 2> x = rows.view(), mixed = mixed_rows.view(), inner = inner_rows.view();
  const Rule rule = {.scale = 1 / std::sqrt(static_cast<float>(facts_.heads.width))};
  Attend attend(Kind::self, facts_.heads, rule, batch, pass);
  pass.keep_hidden(false, 0, x);

  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const BertLayer& layer = layers_[i];
    const auto index = static_cast<std::int64_t>(i);
    const Attend::Rows to = attend.rows(index, x);
    layer.qkv(x, {to.q, to.k, to.v}, pool);
    attend.mix(index, mixed);
    layer.mix(mixed, x, pool, {.add = x});
    layer.mix_norm(x, x, pool);

    layer.up(x, inner, pool, {.activation = activation_});
    layer.down(inner, x, pool, {.add = x});
    layer.norm(x, x, pool);
    pass.keep_hidden(false, i + 1, x);
  }
  return rows;
}

nn::Matrix Bert::do_logits(View<const float, 2> hidden, ThreadPool& pool) const {
  nn::Matrix x(hidden.shape[0], facts_.width), logits(hidden.shape[0], facts_.vocabulary);
  head_dense_(hidden, x.view(), pool, {.activation = dialect_.head_gelu ? nn::Activation::gelu : activation_});
  head_norm_(x.view(), x.view(), pool);
  head_decoder_(x.view(), logits.view(), pool);
  return logits;
}

nn::Matrix Bert::do_pooled(View<const float, 2> first_tokens, ThreadPool& pool) const {
  nn::Matrix pooled(first_tokens.shape[0], facts_.width);
  pooler_(first_tokens, pooled.view(), pool, {.activation = nn::Activation::tanh});
  return pooled;
}

nn::Matrix Bert::do_classify(View<const float, 2> first_tokens, ThreadPool& pool) const {
  nn::Matrix x(first_tokens.shape[0], facts_.width), logits(first_tokens.shape[0], std::ssize(facts_.labels));
  label_dense_(first_tokens, x.view(), pool, {.activation = dialect_.label_activation});
  label_out_(x.view(), logits.view(), pool);
  return logits;
}

}  // namespace

Facts bert_facts(const Config& config) {
  refuse_variants(config);
  Facts facts;
  facts.type = config.text({"model_type"});
  facts.form = Form::encoder;
  facts.layers = read_size(config, {"num_hidden_layers", "n_layers"});
  facts.width = read_size(config, {"hidden_size", "dim"});
  facts.heads = share_evenly(config, facts.width, read_size(config, {"num_attention_heads", "n_heads"}));
  facts.vocabulary = read_size(config, {"vocab_size"});
  facts.has_logits = names_class(config, {"ForMaskedLM", "ForPreTraining", "LMHeadModel"});
  if (names_class(config, {"ForSequenceClassification"})) facts.labels = read_labels(config);
  facts.several_labels = config.text({"problem_type"}, "") == "multi_label_classification";
  read_token_ids(config, facts);
  const Dialect& dialect = dialect_of(facts.type);
  if (facts.pad < 0) facts.pad = static_cast<std::int32_t>(dialect.pad);
  const std::int64_t positions = read_size(config, {"max_position_embeddings"});
  facts.max_tokens = dialect.positions_after_pad ? positions - facts.pad - 1 : positions;
  if (facts.max_tokens < 1) {
    throw Error(config.path(), "max_position_embeddings is " + std::to_string(positions) +
                                   ", but positions begin at pad_token_id + 1 = " + std::to_string(facts.pad + 1));
  }
  return facts;
}

std::unique_ptr<Model> make_bert(const Config& config, Weights& weights) {
  return std::make_unique<Bert>(config, std::move(weights));
}

}  // namespace attn::model
