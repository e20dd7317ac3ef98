#include "tests/model/families/small_model.h"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <utility>

#include "attn/error.h"
#include "model/files/safetensors.h"
#include "tests/support/random.h"

namespace attn::test {

namespace {

constexpr std::int64_t kSmallWidth = 12, kSmallInner = 20, kSmallVocabulary = 20, kSmallPositions = 16,
                       kSmallLayers = 2;

void add_head(SmallModel& m, const std::string& dense, const std::string& norm, const std::string& bias) {
  m.add_linear(dense, kSmallWidth, kSmallWidth);
  m.add_norm(norm, kSmallWidth);
  m.add(bias, {kSmallVocabulary});
}

}  // namespace

SmallModel::SmallModel() {
  static std::atomic<int> count = 0;
  folder_ = std::filesystem::temp_directory_path() /
            ("attnscope-model-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  std::filesystem::create_directories(folder_);
}

SmallModel::~SmallModel() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void SmallModel::add(const std::string& name, std::vector<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  const float base = name.ends_with("norm.weight") || name.ends_with("Norm.weight") ? 1.0F : 0.0F;
  Tensor tensor{std::move(shape), {}};
  for (std::int64_t i = 0; i < count; ++i) {
    tensor.numbers.push_back(base + 0.3F * bell(tensors.size() + 1, static_cast<std::uint64_t>(i)));
  }
  tensors[name] = std::move(tensor);
}

void SmallModel::add_linear(const std::string& name, std::int64_t in, std::int64_t out) {
  add(name + ".weight", {out, in});
  add(name + ".bias", {out});
}

void SmallModel::add_norm(const std::string& name, std::int64_t width) {
  add(name + ".weight", {width});
  add(name + ".bias", {width});
}

void SmallModel::rename(const std::string& from, const std::string& to) {
  std::map<std::string, Tensor> renamed;
  for (auto& [old, tensor] : tensors) {
    std::string name = old;
    if (const auto at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    renamed[name] = std::move(tensor);
  }
  tensors = std::move(renamed);
}

std::unique_ptr<model::Model> SmallModel::load() const {
  std::ofstream json(folder_ / "config.json");
  const char* separator = "{";
  for (const auto& [name, value] : config) json << std::exchange(separator, ", ") << '"' << name << "\": " << value;
  json << "}";
  json.close();
  std::vector<model::TensorToStore> stored;
  for (const auto& [name, tensor] : tensors) {
    stored.push_back({name, model::Dtype::f32, tensor.shape, tensor.numbers.data()});
  }
  model::write_safetensors(folder_ / "model.safetensors", stored);
  return model::load_model(folder_);
}

std::string SmallModel::load_error() const {
  try {
    static_cast<void>(load());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

SmallModel small_bert(const std::string& model_type) {
  SmallModel m;
  m.config = {{"model_type", '"' + model_type + '"'}, {"hidden_size", "12"},       {"num_hidden_layers", "2"},
              {"num_attention_heads", "4"},           {"intermediate_size", "20"}, {"vocab_size", "20"},
              {"max_position_embeddings", "16"},      {"type_vocab_size", "2"}};
  const std::string prefix = model_type + ".";
  m.add(prefix + "embeddings.word_embeddings.weight", {kSmallVocabulary, kSmallWidth});
  m.add(prefix + "embeddings.position_embeddings.weight", {kSmallPositions, kSmallWidth});
  m.add(prefix + "embeddings.token_type_embeddings.weight", {2, kSmallWidth});
  m.add_norm(prefix + "embeddings.LayerNorm", kSmallWidth);
  for (std::int64_t i = 0; i < kSmallLayers; ++i) {
    const std::string layer = prefix + "encoder.layer." + std::to_string(i) + ".";
    for (const char* name : {"query", "key", "value"})
      m.add_linear(layer + "attention.self." + name, kSmallWidth, kSmallWidth);
    m.add_linear(layer + "attention.output.dense", kSmallWidth, kSmallWidth);
    m.add_norm(layer + "attention.output.LayerNorm", kSmallWidth);
    m.add_linear(layer + "intermediate.dense", kSmallWidth, kSmallInner);
    m.add_linear(layer + "output.dense", kSmallInner, kSmallWidth);
    m.add_norm(layer + "output.LayerNorm", kSmallWidth);
  }
  if (model_type == "roberta") {
    add_head(m, "lm_head.dense", "lm_head.layer_norm", "lm_head.bias");
  } else {
    m.add_linear(prefix + "pooler.dense", kSmallWidth, kSmallWidth);
    add_head(m, "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias");
  }
  return m;
}

SmallModel small_gpt2() {
  SmallModel m;
  m.config = {{"model_type", "\"gpt2\""}, {"n_embd", "12"},     {"n_layer", "2"}, {"n_head", "4"},
              {"vocab_size", "20"},       {"n_positions", "16"}};
  m.add("transformer.wte.weight", {kSmallVocabulary, kSmallWidth});
  m.add("transformer.wpe.weight", {kSmallPositions, kSmallWidth});
  for (std::int64_t i = 0; i < kSmallLayers; ++i) {
    const std::string layer = "transformer.h." + std::to_string(i) + ".";
    const auto conv1d = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      m.add(layer + name + ".weight", {in, out});
      m.add(layer + name + ".bias", {out});
    };
    m.add_norm(layer + "ln_1", kSmallWidth);
    conv1d("attn.c_attn", kSmallWidth, 3 * kSmallWidth);
    conv1d("attn.c_proj", kSmallWidth, kSmallWidth);
    m.add_norm(layer + "ln_2", kSmallWidth);
    conv1d("mlp.c_fc", kSmallWidth, 4 * kSmallWidth);
    conv1d("mlp.c_proj", 4 * kSmallWidth, kSmallWidth);
  }
  m.add_norm("transformer.ln_f", kSmallWidth);
  return m;
}

model::EncoderOutput EncoderDecoderFiles::read(const model::Model& m) {
  return {m.encode(model::Batch(ids_), {.pool = pool_}), {0, std::ssize(ids_)}};
}

std::vector<float> EncoderDecoderFiles::logits(const SmallModel& small) {
  const auto m = small.load();
  const model::EncoderOutput memory = read(*m);
  const nn::Matrix states = m->decode(model::Batch(target_), {.pool = pool_, .memory = &memory});
  return numbers_of(m->logits(states.view(), pool_));
}

std::vector<float> numbers_of(const nn::Matrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.rows() * matrix.columns()};
}

}  // namespace attn::test
