// tests/train/trainable_model_test.cc - untrained models, and batches without labels.
#include "train/trainable_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/errors.h"
#include "tests/train/train_support.h"

namespace attn::train {
namespace {

using test::argument_error;
using testing::AllOf;
using testing::HasSubstr;

const ModelSize kShape{.layers = 2, .heads = 4, .width = 64, .positions = 32, .vocabulary = 500, .labels = {"a", "b"}};

bool is_norm(const std::string& name) {
  return name.find("orm") != std::string::npos || name.find("ln_") != std::string::npos;
}

// Deviations: 0.02 for words, the same for positions, which are sines; 0.02 at 768 inputs for matrices between layers,
// and for GPT-2 less for projections into the residual stream (Radford et al., 2019).
TEST(TrainableModel, InitialWeightsHaveTheRightDeviation) {
  for (const Task task : test::kTasks) {
    const std::unique_ptr<TrainableModel> model = make_trainable(task, kShape);
    model->initialise(1);
    for (const nn::Parameter& p : model->parameters().all()) {
      const std::span<const float> numbers(p.value.data(), static_cast<std::size_t>(p.size()));
      if (p.shape.size() == 1) {
        const float want = is_norm(p.name) && p.name.ends_with("weight") ? 1 : 0;
        EXPECT_THAT(numbers, testing::Each(want)) << p.name;
        continue;
      }
      if (p.shape[0] == kShape.positions || p.shape[0] == kShape.positions + 2) continue;
      double mean = 0, square = 0;
      for (const float x : numbers) {
        mean += double{x} / static_cast<double>(p.size());
        square += double{x} * double{x} / static_cast<double>(p.size());
      }
      const bool table = p.shape[0] == kShape.vocabulary || p.name.ends_with("type_embeddings.weight");
      const auto inputs = static_cast<double>(p.shape[task == Task::lm ? 0 : 1]);
      double want = table ? 0.02 : 0.02 * std::sqrt(768 / inputs);
      if (p.name.ends_with("c_proj.weight")) want /= std::sqrt(4.0);
      const double doubt = 6 * want / std::sqrt(static_cast<double>(p.size()));
      EXPECT_NEAR(mean, 0, doubt) << p.name;
      EXPECT_NEAR(std::sqrt(square), want, doubt) << p.name;
    }
  }
}

TEST(TrainableModel, PositionsStartAsSines) {
  const std::pair<Task, const char*> tables[] = {{Task::lm, "transformer.wpe.weight"},
                                                 {Task::mlm, "bert.embeddings.position_embeddings.weight"},
                                                 {Task::translate, "model.decoder.embed_positions.weight"}};
  for (const auto& [task, name] : tables) {
    const std::unique_ptr<TrainableModel> model = make_trainable(task, kShape);
    model->initialise(1);
    const nn::Matrix& table = model->parameters().find(name)->value;
    const std::int64_t first = table.rows() - kShape.positions;  // BART never uses the first two
    for (std::int64_t i = 0; i < kShape.positions; ++i) {
      EXPECT_NEAR(table.row(first + i)[0], 0.02 * std::sqrt(2.0) * std::sin(static_cast<double>(i)), 1e-7);
      EXPECT_NEAR(table.row(first + i)[1], 0.02 * std::sqrt(2.0) * std::cos(static_cast<double>(i)), 1e-7);
    }
  }
}

TEST(TrainableModel, InitialWeightsDependOnTheSeedAlone) {
  const auto first = [](std::uint64_t seed) {
    const std::unique_ptr<TrainableModel> model = make_trainable(Task::mlm, kShape);
    model->initialise(seed);
    const nn::Matrix& value = model->parameters().all()[0].value;
    return std::vector<float>(value.data(), value.data() + 100);
  };
  EXPECT_EQ(first(3), first(3));
  EXPECT_NE(first(3), first(4));
}

TEST(TrainableModel, InvalidSizesAreRefusedWithTheirNumbers) {
  const auto refused = [](void (*change)(ModelSize&)) {
    ModelSize shape = kShape;
    change(shape);
    return argument_error([&] { make_trainable(Task::lm, shape); });
  };
  EXPECT_THAT(refused([](ModelSize& s) { s.heads = 7; }), AllOf(HasSubstr("64"), HasSubstr("7 heads")));
  EXPECT_THAT(refused([](ModelSize& s) { s.layers = 0; }), HasSubstr("0 layers"));
  EXPECT_THAT(refused([](ModelSize& s) { s.heads = 0; }), HasSubstr("0 heads"));
  EXPECT_THAT(refused([](ModelSize& s) { s.width = -8; }), HasSubstr("-8"));
  EXPECT_THAT(refused([](ModelSize& s) { s.positions = 0; }), HasSubstr("0 positions"));
  EXPECT_THAT(refused([](ModelSize& s) { s.vocabulary = 0; }), HasSubstr("0 tokens"));
}

// A step without labels must not divide by zero or change any parameter.
TEST(TrainableModel, BatchWithoutLabelsHasNoLossAndNoGradient) {
  for (const Task task : test::kTasks) {
    const std::unique_ptr<TrainableModel> model = make_trainable(task, kShape);
    model->initialise(1);
    TrainingBatch batch;
    batch.add(std::vector<std::int32_t>{5, 6, 7});
    batch.add(std::vector<std::int32_t>{8});
    if (task == Task::translate) {
      batch.add_source(std::vector<std::int32_t>{9});
      batch.add_source(std::vector<std::int32_t>{9, 10});
    }
    batch.labels.assign(task == Task::classify ? 2 : 4, nn::kNoLabel);
    ThreadPool pool(2);
    nn::Scratch scratch;
    model->parameters().clear_gradients(pool);
    const nn::Loss loss = model->run(batch, true, {.pool = pool, .scratch = scratch, .training = true});
    EXPECT_EQ(loss.counted, 0);
    EXPECT_EQ(loss.mean(), 0);
    EXPECT_EQ(nn::gradient_norm(model->parameters(), pool), 0) << name_of(task);
  }
}

// A sequence's result does not depend on its neighbours.
TEST(TrainableModel, SequencesDoNotSeeEachOther) {
  for (const Task task : test::kTasks) {
    const std::unique_ptr<TrainableModel> model = make_trainable(task, kShape);
    model->initialise(1);
    ThreadPool pool(2);
    nn::Scratch scratch;
    const std::vector<std::vector<std::int32_t>> sequences = {{5, 6, 7, 8, 9}, {10}, {11, 12, 13}};
    const auto loss_of = [&](std::size_t first, std::size_t count) {
      TrainingBatch batch;
      for (std::size_t n = first; n < first + count; ++n) {
        batch.add(sequences[n]);
        if (task == Task::translate) batch.add_source(sequences[2 - n]);
        if (task == Task::classify) {
          batch.labels.push_back(static_cast<std::int32_t>(n % 2));
        } else {
          batch.labels.insert(batch.labels.end(), sequences[n].begin(), sequences[n].end());
        }
      }
      return model->run(batch, false, {.pool = pool, .scratch = scratch}).sum;
    };
    EXPECT_NEAR(loss_of(0, 3), loss_of(0, 1) + loss_of(1, 1) + loss_of(2, 1), 1e-4) << name_of(task);
  }
}

}  // namespace
}  // namespace attn::train
