// GPT-2 (Radford et al., 2019), trainable; src/model/families/gpt2.cc runs it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "nn/learn/stack.h"
#include "train/trainable_families.h"
#include "train/trainable_model.h"

namespace attn::train {
namespace {

constexpr float kGpt2Epsilon = 1e-5F;

// "<name>.weight" [in, out], as GPT-2 stores its matrices.
nn::Dense add_conv1d(nn::Parameters& to, const std::string& name, std::int64_t in, std::int64_t out) {
  return {.w = to.matrix(name + ".weight", in, out), .b = to.vector(name + ".bias", out), .input_first = true};
}

// Outputs [first, first + count) of a layer stored as [in, out].
nn::Dense outputs_of(const nn::Dense& whole, std::int64_t first, std::int64_t count) {
  const auto columns = [&](const View<float, 2>& w) -> View<float, 2> {
    return {w.data + first, {w.shape[0], count}, w.strides};
  };
  const auto part = [&](const View<float, 1>& b) -> View<float, 1> { return {b.data + first, {count}}; };
  return {.w = {columns(whole.w.value), columns(whole.w.gradient)},
          .b = {part(whole.b.value), part(whole.b.gradient)},
          .input_first = true};
}

class TrainableGpt2 final : public TrainableModel {
 public:
  explicit TrainableGpt2(const ModelSize& shape) : TrainableModel(shape), stack_(make_stack()) {}

  nn::Loss run(const TrainingBatch& batch, bool learn, const nn::LearnPass& pass) override {
    const View<const float, 2> hidden = stack_.forward({batch.ids, batch.starts}, pass);
    const nn::Dense head{.w = words_};
    if (!learn) return nn::head_loss(head, {.x = hidden, .labels = batch.labels, .dx = {}}, pass.pool);
    const View<float, 2> d_hidden = d_hidden_.take(hidden.shape[0], hidden.shape[1]);
    const float weight = nn::mean_weight(batch.labels, pass.part.labels);
    const nn::Loss loss =
        nn::head_loss(head, {.x = hidden, .labels = batch.labels, .weight = weight, .dx = d_hidden}, pass.pool);
    stack_.backward(d_hidden, {}, pass);
    return loss;
  }

  [[nodiscard]] std::string config() const override {
    const nlohmann::ordered_json config = {
        {"architectures", {"GPT2LMHeadModel"}},
        {"model_type", "gpt2"},
        {"n_layer", shape_.layers},
        {"n_head", shape_.heads},
        {"n_embd", shape_.width},
        {"n_inner", shape_.inner_width()},
        {"n_positions", shape_.positions},
        {"n_ctx", shape_.positions},
        {"vocab_size", shape_.vocabulary},
        {"activation_function", "gelu_new"},
        {"layer_norm_epsilon", 1e-5},
        {"attn_pdrop", shape_.dropout},
        {"embd_pdrop", shape_.dropout},
        {"resid_pdrop", shape_.dropout},
        {"tie_word_embeddings", true},
        {"bos_token_id", 0},
        {"eos_token_id", 0},
    };
    return config.dump(2) + "\n";
  }

 protected:
  // Projections into the residual stream start smaller the more layers there are.
  [[nodiscard]] Beginning beginning(const nn::Parameter& parameter) const override {
    if (parameter.name.ends_with("wte.weight")) return {.deviation = kTableDeviation};
    if (parameter.name.ends_with("wpe.weight")) return {.positions = true, .deviation = kTableDeviation};
    const double shrunk = parameter.name.ends_with("c_proj.weight") ? 2 * static_cast<double>(shape_.layers) : 1;
    return {.deviation = deviation_of(parameter.shape[0]) / std::sqrt(shrunk)};
  }

 private:
  nn::Stack make_stack() {
    const std::int64_t width = shape_.width;
    words_ = parameters_.matrix("transformer.wte.weight", shape_.vocabulary, width);
    nn::EmbeddingWeights embedding{.words = words_,
                                   .positions = parameters_.matrix("transformer.wpe.weight", shape_.positions, width),
                                   .types = {},
                                   .norm = {},
                                   .dropout = shape_.dropout};
    std::vector<nn::TransformerBlock> blocks;
    for (std::int64_t i = 0; i < shape_.layers; ++i) blocks.push_back(make_block(i));
    return {embedding, std::move(blocks), add_norm(parameters_, "transformer.ln_f", width, kGpt2Epsilon), 0};
  }

  nn::TransformerBlock make_block(std::int64_t index) {
    const std::int64_t width = shape_.width;
    const std::string name = "transformer.h." + std::to_string(index) + ".";
    nn::BlockWeights weights;
    weights.self_norm = add_norm(parameters_, name + "ln_1", width, kGpt2Epsilon);
    const nn::Dense qkv = add_conv1d(parameters_, name + "attn.c_attn", width, 3 * width);
    weights.self.q = outputs_of(qkv, 0, width);
    weights.self.k = outputs_of(qkv, width, width);
    weights.self.v = outputs_of(qkv, 2 * width, width);
    weights.self.out = add_conv1d(parameters_, name + "attn.c_proj", width, width);
    weights.feed_norm = add_norm(parameters_, name + "ln_2", width, kGpt2Epsilon);
    weights.feed.up = add_conv1d(parameters_, name + "mlp.c_fc", width, shape_.inner_width());
    weights.feed.down = add_conv1d(parameters_, name + "mlp.c_proj", shape_.inner_width(), width);
    nn::BlockConfig config;
    config.self = {.width = width, .heads = shape_.heads, .mask = Causal{}, .dropout = shape_.dropout};
    config.activation = nn::Activation::gelu_tanh;
    config.norm_first = true;
    config.dropout = shape_.dropout;
    config.place = static_cast<std::uint64_t>(index);
    return {std::move(config), weights};
  }

  nn::Learned<2> words_;
  nn::Stack stack_;
  nn::Buffer d_hidden_;
};

}  // namespace

std::unique_ptr<TrainableModel> make_gpt2(const ModelSize& shape) { return std::make_unique<TrainableGpt2>(shape); }

}  // namespace attn::train
