// BART (Lewis et al., 2020), a trainable encoder-decoder Transformer; src/model/families/bart.cc runs it.
#include <nlohmann/json.hpp>
#include <optional>

#include "nn/learn/stack.h"
#include "train/trainable_families.h"
#include "train/trainable_model.h"

namespace attn::train {
namespace {

constexpr float kBartEpsilon = 1e-5F;
constexpr std::int64_t kFirstPosition = 2;  // the table's first rows belong to padding and are never used

class TrainableBart final : public TrainableModel {
 public:
  explicit TrainableBart(const ModelSize& shape) : TrainableModel(shape), transformer_(make_transformer()) {}

  nn::Loss run(const TrainingBatch& batch, bool learn, const nn::LearnPass& pass) override {
    return transformer_.run({batch.source, batch.source_starts}, {batch.ids, batch.starts}, batch.labels, learn, pass);
  }

  [[nodiscard]] std::string config() const override {
    const nlohmann::ordered_json config = {
        {"architectures", {"BartForConditionalGeneration"}},
        {"model_type", "bart"},
        {"encoder_layers", shape_.layers},
        {"decoder_layers", shape_.layers},
        {"encoder_attention_heads", shape_.heads},
        {"decoder_attention_heads", shape_.heads},
        {"d_model", shape_.width},
        {"encoder_ffn_dim", shape_.inner_width()},
        {"decoder_ffn_dim", shape_.inner_width()},
        {"max_position_embeddings", shape_.positions},
        {"vocab_size", shape_.vocabulary},
        {"activation_function", "gelu"},
        {"scale_embedding", false},
        {"dropout", shape_.dropout},
        {"attention_dropout", shape_.dropout},
        {"activation_dropout", 0.0},
        {"is_encoder_decoder", true},
        {"tie_word_embeddings", true},
        {"bos_token_id", 0},
        {"pad_token_id", 1},
        {"eos_token_id", 2},
        {"decoder_start_token_id", 2},
        {"forced_eos_token_id", 2},
    };
    return config.dump(2) + "\n";
  }

 protected:
  [[nodiscard]] Beginning beginning(const nn::Parameter& parameter) const override {
    if (parameter.name.ends_with("embed_positions.weight")) {
      return {.positions = true, .first_position = kFirstPosition, .deviation = kTableDeviation};
    }
    const bool table = parameter.name == "model.shared.weight";
    return {.deviation = table ? kTableDeviation : deviation_of(parameter.shape[1])};
  }

 private:
  nn::Transformer make_transformer() {
    words_ = parameters_.matrix("model.shared.weight", shape_.vocabulary, shape_.width);
    nn::Stack encoder = make_stack(false);
    nn::Stack decoder = make_stack(true);
    return {std::move(encoder), std::move(decoder), nn::Dense{.w = words_}};
  }

  nn::Stack make_stack(bool decoder) {
    const std::int64_t width = shape_.width;
    const std::string name = decoder ? "model.decoder." : "model.encoder.";
    nn::EmbeddingWeights embedding;
    embedding.words = words_;
    embedding.positions = parameters_.matrix(name + "embed_positions.weight", kFirstPosition + shape_.positions, width);
    embedding.norm = add_norm(parameters_, name + "layernorm_embedding", width, kBartEpsilon);
    embedding.first_position = kFirstPosition;
    embedding.dropout = shape_.dropout;
    std::vector<nn::TransformerBlock> blocks;
    for (std::int64_t i = 0; i < shape_.layers; ++i) blocks.push_back(make_block(name, i, decoder));
    return {embedding, std::move(blocks), std::nullopt, decoder ? 1U : 0U};
  }

  nn::AttentionWeights attention(const std::string& name) {
    const std::int64_t width = shape_.width;
    return {.q = add_dense(parameters_, name + "q_proj", width, width),
            .k = add_dense(parameters_, name + "k_proj", width, width),
            .v = add_dense(parameters_, name + "v_proj", width, width),
            .out = add_dense(parameters_, name + "out_proj", width, width),
            .relation = {}};
  }

  nn::TransformerBlock make_block(const std::string& stack, std::int64_t index, bool decoder) {
    const std::int64_t width = shape_.width, inner = shape_.inner_width();
    const std::string name = stack + "layers." + std::to_string(index) + ".";
    nn::BlockWeights weights;
    weights.self = attention(name + "self_attn.");
    weights.self_norm = add_norm(parameters_, name + "self_attn_layer_norm", width, kBartEpsilon);
    if (decoder) {
      weights.cross = attention(name + "encoder_attn.");
      weights.cross_norm = add_norm(parameters_, name + "encoder_attn_layer_norm", width, kBartEpsilon);
    }
    weights.feed.up = add_dense(parameters_, name + "fc1", width, inner);
    weights.feed.down = add_dense(parameters_, name + "fc2", inner, width);
    weights.feed_norm = add_norm(parameters_, name + "final_layer_norm", width, kBartEpsilon);
    nn::BlockConfig config;
    config.self = {.width = width, .heads = shape_.heads, .dropout = shape_.dropout};
    config.cross = config.self;
    if (decoder) config.self.mask = Causal{};
    config.dropout = shape_.dropout;
    config.place = static_cast<std::uint64_t>(index + (decoder ? shape_.layers : 0));
    return {std::move(config), weights};
  }

  nn::Learned<2> words_;
  nn::Transformer transformer_;
};

}  // namespace

std::unique_ptr<TrainableModel> make_bart(const ModelSize& shape) { return std::make_unique<TrainableBart>(shape); }

}  // namespace attn::train
