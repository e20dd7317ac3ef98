// bench/engine/training.cc - training steps, called from Python with negligible overhead.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "attn/thread_pool.h"
#include "nn/learn/adamw.h"
#include "nn/learn/pass.h"
#include "train/trainable_model.h"

namespace {

struct Opened {
  attn::ThreadPool pool;
  std::unique_ptr<attn::train::TrainableModel> model;
  attn::nn::AdamW optimiser;
  attn::nn::Scratch scratch;

  Opened(const attn::train::ModelSize& shape, int threads)
      : pool(threads), model(started(shape)), optimiser(model->parameters(), {.decay = 0.1F}) {}

  static std::unique_ptr<attn::train::TrainableModel> started(const attn::train::ModelSize& shape) {
    std::unique_ptr<attn::train::TrainableModel> model = attn::train::make_trainable(attn::train::Task::lm, shape);
    model->initialise(1);
    return model;
  }
};

}  // namespace

extern "C" {

struct BenchTraining {
  std::int64_t layers, heads, width, positions, vocabulary;
};

void* bench_training_open(const BenchTraining* t, int threads) {
  attn::train::ModelSize shape;
  shape.layers = t->layers;
  shape.heads = t->heads;
  shape.width = t->width;
  shape.positions = t->positions;
  shape.vocabulary = t->vocabulary;
  return new Opened(shape, threads);
}

void bench_training_close(void* opened) { delete static_cast<Opened*>(opened); }

// The numbers of the parameter of this name, and their count in *size. Null: no such name.
const float* bench_training_numbers(void* opened, const char* name, std::int64_t* size) {
  const attn::nn::Parameter* found = static_cast<Opened*>(opened)->model->parameters().find(name);
  if (found == nullptr) return nullptr;
  *size = found->size();
  return found->value.data();
}

// One AdamW step on sequences of ids [batch, length + 1]; each token is predicted from those before it. Returns the
// loss.
double bench_training_step(void* opened, const std::int32_t* ids, std::int64_t batch, std::int64_t length, float rate) {
  auto& it = *static_cast<Opened*>(opened);
  attn::train::TrainingBatch given;
  for (std::int64_t s = 0; s < batch; ++s) {
    const std::int32_t* const first = ids + s * (length + 1);
    given.add({first, static_cast<std::size_t>(length)});
    given.labels.insert(given.labels.end(), first + 1, first + 1 + length);
  }
  attn::nn::Parameters& parameters = it.model->parameters();
  parameters.clear_gradients(it.pool);
  const double loss = it.model->run(given, true, {.pool = it.pool, .scratch = it.scratch, .training = true}).mean();
  const double norm = attn::nn::gradient_norm(parameters, it.pool);
  it.optimiser.step(parameters, rate, attn::nn::clip_scale(norm, 1), it.pool);
  return loss;
}

}  // extern "C"
