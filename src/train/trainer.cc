#include "train/trainer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "attn/error.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "base/whole.h"
#include "engine/runtime/copy_bytes.h"
#include "engine/runtime/number_text.h"
#include "model/files/config.h"
#include "model/files/safetensors.h"
#include "model/files/weights.h"
#include "model/run/model.h"
#include "nn/infer/embedding.h"
#include "train/gradient_share.h"

namespace attn::train {
namespace {

constexpr const char* kFile = "training.safetensors";
constexpr const char* kFormat = "attnscope training 0";
constexpr std::int64_t kEvaluated = 3;  // numbers per evaluation
constexpr std::uint64_t kDropoutSeed = 0xD6E8FEB86659FD93U;

std::string exact(double value) { return number_text(value, std::chars_format::general, 17); }

Trainer::Facts all_facts(Trainer::Facts facts, const TrainPlan& plan) {
  facts["steps"] = std::to_string(plan.steps);
  facts["rate"] = exact(plan.rate);
  facts["warmup"] = std::to_string(plan.warmup);
  facts["decay"] = exact(plan.decay);
  facts["clip"] = exact(plan.clip);
  facts["seed"] = std::to_string(plan.seed);
  return facts;
}

// Copies a tensor of the checkpoint, which must have the size of `to`.
void take(const model::SafeTensors& file, const std::string& name, const std::vector<std::int64_t>& shape,
          std::span<float> to) {
  const auto found = file.tensors().find(name);
  if (found == file.tensors().end()) throw Error(file.path(), "no tensor '" + name + "'");
  const model::StoredTensor& tensor = found->second;
  if (tensor.dtype != model::Dtype::f32 || tensor.shape != shape) {
    throw Error(file.path(), "'" + name + "' is " + model::shape_text(tensor.shape) + " there, " +
                                 model::shape_text(shape) + " here: the checkpoint belongs to another model");
  }
  copy_bytes(to.data(), file.load(tensor), to.size_bytes());
}

std::int64_t steps_of(const model::SafeTensors& file, const std::string& text, std::int64_t most) {
  std::int64_t steps = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (problem == std::errc() && end == text.data() + text.size() && steps >= 0 && steps <= most) return steps;
  throw Error(file.path(), "its step is '" + text + "'; it must be a number from 0 to " + std::to_string(most));
}

std::span<float> numbers(nn::Matrix& m) { return {m.data(), static_cast<std::size_t>(m.rows() * m.columns())}; }

model::TensorToStore stored(std::string name, const std::vector<std::int64_t>& shape, const float* data) {
  return {std::move(name), model::Dtype::f32, shape, data};
}

}  // namespace

Trainer::Trainer(std::unique_ptr<TrainableModel> model, BatchSource& batches, const TrainPlan& plan, Facts facts,
                 Ranks& ranks)
    : model_(std::move(model)),
      batches_(batches),
      plan_(plan),
      facts_(all_facts(std::move(facts), plan)),
      ranks_(ranks),
      optimiser_(model_->parameters(), {.decay = plan.decay}) {}

std::string Trainer::disagreement(const Facts& more) const {
  if (ranks_.size() == 1) return {};
  Facts mine = facts_;
  mine.insert(more.begin(), more.end());
  mine["step"] = std::to_string(steps_done());
  std::uint64_t hash = base::kHashOfNothing;
  for (const nn::Parameter& parameter : model_->parameters().all()) {
    const auto bytes = std::as_bytes(std::span(parameter.value.data(), static_cast<std::size_t>(parameter.size())));
    hash = base::hash_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, hash);
  }
  mine["hash of all numbers"] = std::to_string(hash);
  return difference(ranks_, mine);
}

Trainer::Step Trainer::step(ThreadPool& pool, const Stop& stop) {
  const std::int64_t index = steps_done();
  const TrainingBatch batch = batches_.batch(index);
  const BatchShare mine = share_of(batch, ranks_.rank(), ranks_.size());
  const nn::LearnPass pass{.pool = pool,
                           .scratch = scratch_,
                           .training = true,
                           .seed = plan_.seed * kDropoutSeed + static_cast<std::uint64_t>(index),
                           .part = mine.part};
  nn::Parameters& parameters = model_->parameters();
  parameters.clear_gradients(pool);
  double all[] = {model_->run(mine.batch, true, pass).sum, stop && stop() ? 1.0 : 0.0};
  sum(ranks_, std::span<double>(all));
  sum_gradients(ranks_, parameters);
  const double loss = nn::Loss{.sum = all[0], .counted = mine.part.labels}.mean();
  const double norm = nn::gradient_norm(parameters, pool);
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    throw Diverged((std::isfinite(loss) ? "a gradient" : "loss") + std::string(" became NaN or infinite at step ") +
                   std::to_string(index + 1) + "; try a lower --rate");
  }
  const nn::Schedule schedule{.peak = plan_.rate, .warmup = plan_.warmup, .steps = plan_.steps};
  const double rate = schedule.rate(index);
  optimiser_.step(parameters, static_cast<float>(rate), nn::clip_scale(norm, plan_.clip), pool);
  history_.losses.push_back(static_cast<float>(loss));
  return {.loss = loss, .rate = rate, .norm = norm, .tokens = batch.tokens(), .stop = all[1] > 0};
}

std::optional<Evaluation> Trainer::evaluate(ThreadPool& pool, const Stop& stop) {
  if (!held_out_) held_out_ = batches_.held_out();
  if (held_out_->empty()) return std::nullopt;
  const nn::LearnPass pass{.pool = pool, .scratch = scratch_};
  const std::optional<nn::Loss> all = shared_loss(ranks_, held_out_->size(), [&](std::size_t n) {
    return stop && stop() ? std::nullopt : std::optional(model_->run((*held_out_)[n], false, pass));
  });
  if (!all) throw Stopped();
  const Evaluation evaluation{
      .step = steps_done(),
      .loss = all->mean(),
      .accuracy = static_cast<double>(all->right) / static_cast<double>(std::max<std::int64_t>(1, all->counted))};
  history_.evaluated.push_back(evaluation);
  return evaluation;
}

bool Trainer::has_checkpoint(const std::filesystem::path& folder) { return std::filesystem::exists(folder / kFile); }

bool Trainer::resume(const std::filesystem::path& folder) {
  if (!has_checkpoint(folder)) return false;
  const model::SafeTensors file = model::SafeTensors::open(folder / kFile);
  const auto& metadata = file.metadata();
  const auto said = [&](std::string_view name) -> std::string {
    const auto found = metadata.find(name);
    return found == metadata.end() ? "nothing" : found->second;
  };
  if (said("format") != kFormat) {
    throw Error(file.path(), "its format is '" + said("format") + "', not '" + kFormat + "'");
  }
  std::string others;
  for (const auto& [name, value] : facts_) {
    if (said(name) == value) continue;
    others += (others.empty() ? "" : ", ") + name + " is " + value + " here and was " + said(name);
  }
  if (!others.empty()) {
    throw Error(file.path(), others + " in the checkpoint; use the same settings, or another folder");
  }
  const std::int64_t steps = steps_of(file, said("step"), plan_.steps);
  std::size_t n = 0;
  for (nn::Parameter& parameter : model_->parameters().all()) {
    nn::AdamW::Moments& moments = optimiser_.moments()[n++];
    take(file, "value." + parameter.name, parameter.shape, numbers(parameter.value));
    take(file, "first." + parameter.name, parameter.shape, numbers(moments.first));
    take(file, "second." + parameter.name, parameter.shape, numbers(moments.second));
  }
  history_.losses.resize(static_cast<std::size_t>(steps));
  if (steps > 0) take(file, "history.losses", {steps}, history_.losses);
  history_.evaluated.clear();
  const auto evaluated = file.tensors().find("history.judged");
  if (evaluated != file.tensors().end()) {
    const model::StoredTensor& stored = evaluated->second;
    if (stored.dtype != model::Dtype::f64 || stored.shape.size() != 2 || stored.shape[1] != kEvaluated) {
      throw Error(file.path(), "'history.judged' is " + model::shape_text(stored.shape) +
                                   " there; it must be rows of " + std::to_string(kEvaluated) + " doubles");
    }
    for (std::int64_t i = 0; i < evaluated->second.shape[0]; ++i) {
      double row[kEvaluated];
      std::memcpy(row, evaluated->second.data + i * static_cast<std::int64_t>(sizeof row), sizeof row);
      history_.evaluated.push_back({.step = base::whole<std::int64_t>(row[0]), .loss = row[1], .accuracy = row[2]});
    }
  }
  optimiser_.set_steps(steps);
  return true;
}

void Trainer::save(const std::filesystem::path& folder) const {
  std::vector<model::TensorToStore> tensors;
  std::size_t n = 0;
  for (const nn::Parameter& parameter : model_->parameters().all()) {
    const nn::AdamW::Moments& moments = optimiser_.moments()[n++];
    tensors.push_back(stored("value." + parameter.name, parameter.shape, parameter.value.data()));
    tensors.push_back(stored("first." + parameter.name, parameter.shape, moments.first.data()));
    tensors.push_back(stored("second." + parameter.name, parameter.shape, moments.second.data()));
  }
  if (!history_.losses.empty()) {
    tensors.push_back(stored("history.losses", {std::ssize(history_.losses)}, history_.losses.data()));
  }
  std::vector<double> evaluated;
  for (const Evaluation& j : history_.evaluated)
    evaluated.insert(evaluated.end(), {static_cast<double>(j.step), j.loss, j.accuracy});
  if (!evaluated.empty()) {
    tensors.push_back(
        {"history.judged", model::Dtype::f64, {std::ssize(history_.evaluated), kEvaluated}, evaluated.data()});
  }
  std::map<std::string, std::string, std::less<>> metadata(facts_.begin(), facts_.end());
  metadata["format"] = kFormat;
  metadata["step"] = std::to_string(steps_done());
  model::write_safetensors(folder / kFile, tensors, metadata);
  save_model(folder, false);
}

void Trainer::save_model(const std::filesystem::path& folder, bool half) const {
  std::vector<std::vector<Half>> halves;
  std::vector<model::TensorToStore> tensors;
  for (const nn::Parameter& parameter : model_->parameters().all()) {
    tensors.push_back(stored(parameter.name, parameter.shape, parameter.value.data()));
    if (!half) continue;
    std::vector<Half>& numbers = halves.emplace_back(static_cast<std::size_t>(parameter.size()));
    std::transform(parameter.value.data(), parameter.value.data() + parameter.size(), numbers.begin(), to_half);
    tensors.back().dtype = model::Dtype::f16;
    tensors.back().data = numbers.data();
  }
  base::write_file(folder / "config.json", model_->config());
  model::write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
}

ModelSize shape_of(const base::Folder& folder, Task task) {
  const model::Facts facts = model::read_facts(folder);
  const std::string wanted = task == Task::lm ? "gpt2" : task == Task::translate ? "bart" : "bert";
  if (facts.type != wanted) {
    throw std::invalid_argument(folder.name() + " is a " + facts.type + "; " + std::string(name_of(task)) +
                                " needs a " + wanted);
  }
  const model::Config config = model::Config::read(folder, "config.json");
  ModelSize shape;
  shape.layers = facts.layers;
  shape.heads = facts.heads.heads;
  shape.width = facts.width;
  shape.inner = config.integer({"intermediate_size", "n_inner", "encoder_ffn_dim"}, 4 * facts.width);
  shape.positions = facts.max_tokens;
  shape.vocabulary = facts.vocabulary;
  return shape;
}

std::int64_t take_weights(TrainableModel& model, const base::Folder& folder) {
  const model::Weights weights(folder);
  std::int64_t taken = 0;
  for (nn::Parameter& parameter : model.parameters().all()) {
    if (!weights.has(parameter.name)) continue;
    ++taken;
    const View<float, 2> to = parameter.value.view();
    if (parameter.shape.size() == 2) {
      const AnyView<2> from = weights.matrix(parameter.name, to.shape[0], to.shape[1]);
      std::vector<std::int32_t> rows(static_cast<std::size_t>(to.shape[0]));
      std::iota(rows.begin(), rows.end(), 0);
      nn::embed(from, rows, to);
    } else {
      const std::vector<float> from = weights.floats(parameter.name, to.shape[1]);
      std::copy(from.begin(), from.end(), to.data);
    }
  }
  return taken;
}

}  // namespace attn::train
