// BERT (Devlin et al., 2018), trainable to fill in words or to classify; src/model/families/bert.cc runs it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "nn/infer/activation.h"
#include "nn/infer/embedding.h"
#include "nn/learn/dropout.h"
#include "nn/learn/stack.h"
#include "train/trainable_families.h"
#include "train/trainable_model.h"

namespace attn::train {
namespace {

constexpr float kBertEpsilon = 1e-12F;
constexpr std::int64_t kTypes = 2;
constexpr std::uint64_t kHeadPlace = std::uint64_t{1} << 40;  // dropout position of the head, beyond all of the stack's

// Gradients of the rows that the head read; the others get none.
void give_back(std::span<const std::int32_t> rows, View<const float, 2> d, View<float, 2> d_hidden, ThreadPool& pool) {
  std::fill_n(d_hidden.data, d_hidden.size(), 0.0F);
  nn::embed_backward(rows, d, d_hidden, pool);
}

// Computes a loss from hidden states, and its gradient.
class BertHead {
 public:
  virtual ~BertHead() = default;
  // With `learn`, d_hidden is written; without, it is empty.
  virtual nn::Loss run(View<const float, 2> hidden, const TrainingBatch& batch, View<float, 2> d_hidden,
                       const nn::LearnPass& pass) = 0;
};

// logits = words^T norm(gelu(dense(x))) + bias, for tokens with a label.
class FillHead final : public BertHead {
 public:
  FillHead(nn::Parameters& to, const ModelSize& shape, const nn::Learned<2>& words)
      : dense_(add_dense(to, "cls.predictions.transform.dense", shape.width, shape.width)),
        norm_(add_norm(to, "cls.predictions.transform.LayerNorm", shape.width, kBertEpsilon)),
        decoder_{.w = words, .b = to.vector("cls.predictions.bias", shape.vocabulary)} {}

  nn::Loss run(View<const float, 2> hidden, const TrainingBatch& batch, View<float, 2> d_hidden,
               const nn::LearnPass& pass) override {
    take_labelled(hidden, batch.labels);
    const std::int64_t rows = x_.view().shape[0], width = x_.view().shape[1];
    const View<float, 2> before = before_.take(rows, width), active = active_.take(rows, width);
    const View<float, 2> normed = normed_.take(rows, width);
    nn::dense(dense_, x_.view(), before, pass.pool);
    nn::activate(before, nn::Activation::gelu, active, pass.pool);
    nn::norm(norm_, active, normed, pass.pool);
    if (d_hidden.empty()) return nn::head_loss(decoder_, {.x = normed, .labels = labels_, .dx = {}}, pass.pool);

    const View<float, 2> d = d_.take(rows, width);
    const float weight = nn::mean_weight(labels_, pass.part.labels);
    const nn::Loss loss =
        nn::head_loss(decoder_, {.x = normed, .labels = labels_, .weight = weight, .dx = d}, pass.pool);
    nn::norm_backward(norm_, {.x = active, .dy = d, .dx = d}, pass.pool);
    nn::activate_backward(before, nn::Activation::gelu, d, pass.pool);
    const View<float, 2> dx = normed;  // reuses the buffer of `normed`
    nn::dense_backward(dense_, x_.view(), d, dx, pass.pool);
    give_back(rows_, dx, d_hidden, pass.pool);
    return loss;
  }

 private:
  void take_labelled(View<const float, 2> hidden, std::span<const std::int32_t> labels) {
    rows_.clear();
    labels_.clear();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == nn::kNoLabel) continue;
      rows_.push_back(static_cast<std::int32_t>(i));
      labels_.push_back(labels[i]);
    }
    nn::embed(hidden, rows_, x_.take(std::ssize(rows_), hidden.shape[1]));
  }

  nn::Dense dense_;
  nn::Norm norm_;
  nn::Dense decoder_;
  std::vector<std::int32_t> rows_, labels_;
  nn::Buffer x_, before_, active_, normed_, d_;
};

// logits = classifier(drop(tanh(pooler(x of the first token)))).
class ClassHead final : public BertHead {
 public:
  ClassHead(nn::Parameters& to, const ModelSize& shape)
      : pooler_(add_dense(to, "bert.pooler.dense", shape.width, shape.width)),
        classifier_(add_dense(to, "classifier", shape.width, std::ssize(shape.labels))),
        dropout_(shape.dropout) {}

  nn::Loss run(View<const float, 2> hidden, const TrainingBatch& batch, View<float, 2> d_hidden,
               const nn::LearnPass& pass) override {
    const std::int64_t rows = std::ssize(batch.starts) - 1, width = hidden.shape[1];
    const View<float, 2> first = first_.take(rows, width);
    const std::vector<std::int32_t> starts(batch.starts.begin(), batch.starts.end() - 1);
    nn::embed(hidden, starts, first);
    const View<float, 2> before = before_.take(rows, width), pooled = pooled_.take(rows, width);
    nn::dense(pooler_, first, before, pass.pool);
    nn::activate(before, nn::Activation::tanh, pooled, pass.pool);
    Dropout dropout = pass.dropout(dropout_, kHeadPlace);
    dropout.first_query = pass.part.first_sequence;  // a row is a sequence
    nn::drop(pooled, dropout, pass.pool);
    if (d_hidden.empty()) return nn::head_loss(classifier_, {.x = pooled, .labels = batch.labels, .dx = {}}, pass.pool);

    const View<float, 2> d = d_.take(rows, width), d_first = d_first_.take(rows, width);
    const float weight = nn::mean_weight(batch.labels, pass.part.labels);
    const nn::Loss loss =
        nn::head_loss(classifier_, {.x = pooled, .labels = batch.labels, .weight = weight, .dx = d}, pass.pool);
    nn::drop(d, dropout, pass.pool);
    nn::activate_backward(before, nn::Activation::tanh, d, pass.pool);
    nn::dense_backward(pooler_, first, d, d_first, pass.pool);
    give_back(starts, d_first, d_hidden, pass.pool);
    return loss;
  }

 private:
  nn::Dense pooler_, classifier_;
  float dropout_;
  nn::Buffer first_, before_, pooled_, d_, d_first_;
};

class TrainableBert final : public TrainableModel {
 public:
  TrainableBert(const ModelSize& shape, Task head) : TrainableModel(shape), head_(head), stack_(make_stack()) {
    if (head == Task::mlm) {
      out_ = std::make_unique<FillHead>(parameters_, shape_, words_);
    } else {
      out_ = std::make_unique<ClassHead>(parameters_, shape_);
    }
  }

  nn::Loss run(const TrainingBatch& batch, bool learn, const nn::LearnPass& pass) override {
    const View<const float, 2> hidden = stack_.forward({batch.ids, batch.starts}, pass);
    if (!learn) return out_->run(hidden, batch, {}, pass);
    const View<float, 2> d_hidden = d_hidden_.take(hidden.shape[0], hidden.shape[1]);
    const nn::Loss loss = out_->run(hidden, batch, d_hidden, pass);
    stack_.backward(d_hidden, {}, pass);
    return loss;
  }

  [[nodiscard]] std::string config() const override {
    nlohmann::ordered_json config = {
        {"architectures", {head_ == Task::mlm ? "BertForMaskedLM" : "BertForSequenceClassification"}},
        {"model_type", "bert"},
        {"num_hidden_layers", shape_.layers},
        {"num_attention_heads", shape_.heads},
        {"hidden_size", shape_.width},
        {"intermediate_size", shape_.inner_width()},
        {"max_position_embeddings", shape_.positions},
        {"vocab_size", shape_.vocabulary},
        {"type_vocab_size", kTypes},
        {"hidden_act", "gelu"},
        {"layer_norm_eps", 1e-12},
        {"hidden_dropout_prob", shape_.dropout},
        {"attention_probs_dropout_prob", shape_.dropout},
        {"position_embedding_type", "absolute"},
        {"tie_word_embeddings", true},
        {"pad_token_id", 0},
    };
    if (head_ == Task::classify) {
      nlohmann::ordered_json names = nlohmann::ordered_json::object(), ids = nlohmann::ordered_json::object();
      for (std::size_t i = 0; i < shape_.labels.size(); ++i) {
        names[std::to_string(i)] = shape_.labels[i];
        ids[shape_.labels[i]] = i;
      }
      config["id2label"] = names;
      config["label2id"] = ids;
      config["problem_type"] = "single_label_classification";
    }
    return config.dump(2) + "\n";
  }

 protected:
  [[nodiscard]] Beginning beginning(const nn::Parameter& parameter) const override {
    const bool positions = parameter.name.ends_with("position_embeddings.weight");
    const bool table = parameter.name.starts_with("bert.embeddings.");
    return {.positions = positions, .deviation = table ? kTableDeviation : deviation_of(parameter.shape[1])};
  }

 private:
  nn::Stack make_stack() {
    const std::int64_t width = shape_.width;
    const std::string name = "bert.embeddings.";
    words_ = parameters_.matrix(name + "word_embeddings.weight", shape_.vocabulary, width);
    nn::EmbeddingWeights embedding;
    embedding.words = words_;
    embedding.positions = parameters_.matrix(name + "position_embeddings.weight", shape_.positions, width);
    embedding.types = parameters_.matrix(name + "token_type_embeddings.weight", kTypes, width);
    embedding.norm = add_norm(parameters_, name + "LayerNorm", width, kBertEpsilon);
    embedding.dropout = shape_.dropout;
    std::vector<nn::TransformerBlock> blocks;
    for (std::int64_t i = 0; i < shape_.layers; ++i) blocks.push_back(make_block(i));
    return {embedding, std::move(blocks), std::nullopt, 0};
  }

  nn::TransformerBlock make_block(std::int64_t index) {
    const std::int64_t width = shape_.width, inner = shape_.inner_width();
    const std::string name = "bert.encoder.layer." + std::to_string(index) + ".";
    const auto dense = [&](const char* part, std::int64_t in, std::int64_t out) {
      return add_dense(parameters_, name + part, in, out);
    };
    nn::BlockWeights weights;
    weights.self.q = dense("attention.self.query", width, width);
    weights.self.k = dense("attention.self.key", width, width);
    weights.self.v = dense("attention.self.value", width, width);
    weights.self.out = dense("attention.output.dense", width, width);
    weights.self_norm = add_norm(parameters_, name + "attention.output.LayerNorm", width, kBertEpsilon);
    weights.feed.up = dense("intermediate.dense", width, inner);
    weights.feed.down = dense("output.dense", inner, width);
    weights.feed_norm = add_norm(parameters_, name + "output.LayerNorm", width, kBertEpsilon);
    nn::BlockConfig config;
    config.self = {.width = width, .heads = shape_.heads, .dropout = shape_.dropout};
    config.dropout = shape_.dropout;
    config.place = static_cast<std::uint64_t>(index);
    return {std::move(config), weights};
  }

  Task head_;
  nn::Learned<2> words_;
  nn::Stack stack_;
  std::unique_ptr<BertHead> out_;
  nn::Buffer d_hidden_;
};

}  // namespace

std::unique_ptr<TrainableModel> make_bert(const ModelSize& shape, Task head) {
  return std::make_unique<TrainableBert>(shape, head);
}

}  // namespace attn::train
