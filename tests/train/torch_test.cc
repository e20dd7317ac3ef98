// tests/train/torch_test.cc - whole models against torch: every gradient of a batch, and ten steps. make_training.py
// describes the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/model/families/golden_support.h"
#include "tests/support/thread_ranks.h"
#include "train/trainable_model.h"
#include "train/trainer.h"

namespace attn::train {
namespace {

constexpr double kGradientTolerance = 2e-5;  // relative to a tensor's largest number; 5e-6 was measured
constexpr double kLossTolerance = 1e-4;

struct Case {
  const char* name;
  Task task;
};

std::filesystem::path folder_of(const Case& c) { return std::filesystem::path(ATTNSCOPE_GOLDEN) / "training" / c.name; }

std::vector<std::int64_t> long_ones(const std::vector<std::int32_t>& from) { return {from.begin(), from.end()}; }

// Cycles through the batches of a file.
class FileBatches final : public BatchSource {
 public:
  explicit FileBatches(const test::Expected& file) {
    for (int n = 0; file.has(std::to_string(n) + ".ids"); ++n) {
      const std::string name = std::to_string(n) + ".";
      TrainingBatch& batch = batches_.emplace_back();
      batch.ids = file.integers(name + "ids");
      batch.starts = long_ones(file.integers(name + "starts"));
      batch.labels = file.integers(name + "labels");
      if (!file.has(name + "source")) continue;
      batch.source = file.integers(name + "source");
      batch.source_starts = long_ones(file.integers(name + "source_starts"));
    }
  }
  [[nodiscard]] TrainingBatch batch(std::int64_t step) override {
    return batches_.at(static_cast<std::size_t>(step) % batches_.size());
  }
  [[nodiscard]] std::vector<TrainingBatch> held_out() override { return {}; }
  [[nodiscard]] std::int64_t examples() const noexcept override { return std::ssize(batches_); }

 private:
  std::vector<TrainingBatch> batches_;
};

std::unique_ptr<TrainableModel> load(const Case& c, const test::Expected& file) {
  const auto number = [&](const char* name) { return std::stoll(file.text(name)); };
  ModelSize shape{.layers = number("layers"),
                  .heads = number("heads"),
                  .width = number("width"),
                  .inner = number("inner"),
                  .positions = number("positions"),
                  .vocabulary = number("vocabulary"),
                  .labels = {}};
  if (c.task == Task::classify) shape.labels = {"bad", "good", "so-so"};
  std::unique_ptr<TrainableModel> model = make_trainable(c.task, shape);
  EXPECT_EQ(take_weights(*model, folder_of(c)), std::ssize(model->parameters().all()));
  return model;
}

class Torch : public testing::TestWithParam<Case> {
 protected:
  test::Expected file_{folder_of(GetParam()) / "expected.safetensors"};
  FileBatches batches_{file_};
};

// Errors are relative to a tensor's largest number, except where the gradient is only rounding error, as for the bias
// of keys, which cancels in the softmax.
TEST_P(Torch, FindsTheSameGradientOfEveryParameter) {
  const std::unique_ptr<TrainableModel> model = load(GetParam(), file_);
  ThreadPool pool(2);
  nn::Scratch scratch;
  model->parameters().clear_gradients(pool);
  const double loss = model->run(batches_.batch(0), true, {.pool = pool, .scratch = scratch, .training = true}).mean();
  EXPECT_NEAR(loss, file_.table("losses").numbers[0], 1e-5);

  double largest_of_all = 0;
  for (const nn::Parameter& p : model->parameters().all()) {
    for (const float g : file_.table("gradient." + p.name).numbers)
      largest_of_all = std::max(largest_of_all, std::abs(double{g}));
  }
  for (const nn::Parameter& p : model->parameters().all()) {
    const test::Expected::Table want = file_.table("gradient." + p.name);
    ASSERT_EQ(p.shape, want.shape) << p.name;
    double largest = 1e-2 * largest_of_all, off = 0;
    for (std::int64_t i = 0; i < p.size(); ++i) {
      const double wanted = want.numbers[static_cast<std::size_t>(i)], got = p.gradient.data()[i];
      largest = std::max(largest, std::abs(wanted));
      off = std::isfinite(got) ? std::max(off, std::abs(got - wanted)) : INFINITY;
    }
    EXPECT_LE(off / largest, kGradientTolerance) << p.name;
  }
}

// The smallest batch has two sequences.
TEST_P(Torch, HasTheSameLossInEachOfTenStepsOnOneRankOrTwo) {
  const TrainPlan plan{.steps = std::stoll(file_.text("steps")),
                       .rate = std::stod(file_.text("rate")),
                       .warmup = std::stoll(file_.text("warmup")),
                       .decay = std::stof(file_.text("decay")),
                       .clip = std::stod(file_.text("clip"))};
  const std::vector<float> losses = file_.table("losses").numbers, norms = file_.table("norms").numbers;
  for (const int size : {1, 2}) {
    test::on_ranks(size, [&](Ranks& ranks) {
      Trainer trainer(load(GetParam(), file_), batches_, plan, {}, ranks);
      ThreadPool pool(3 - size);
      for (std::size_t n = 0; n < losses.size(); ++n) {
        const Trainer::Step step = trainer.step(pool);
        EXPECT_NEAR(step.loss, losses[n], kLossTolerance) << n << " of " << size;
        EXPECT_NEAR(step.norm, norms[n], 1e-3) << n << " of " << size;
      }
      EXPECT_TRUE(trainer.done());
    });
  }
}

// Gradients accumulate.
TEST_P(Torch, TwoRunsWithoutClearingGiveTwiceTheGradient) {
  const std::unique_ptr<TrainableModel> model = load(GetParam(), file_);
  ThreadPool pool(2);
  nn::Scratch scratch;
  const nn::LearnPass pass{.pool = pool, .scratch = scratch, .training = true};
  model->parameters().clear_gradients(pool);
  model->run(batches_.batch(1), true, pass);
  const double once = nn::gradient_norm(model->parameters(), pool);
  model->run(batches_.batch(1), true, pass);
  EXPECT_NEAR(nn::gradient_norm(model->parameters(), pool), 2 * once, 1e-5 * once);
}

TEST_P(Torch, GradientsHaveTheSameBitsForAnyNumberOfThreads) {
  std::vector<std::vector<float>> want;
  for (const int threads : {1, 2, 3}) {
    const std::unique_ptr<TrainableModel> model = load(GetParam(), file_);
    ThreadPool pool(threads);
    nn::Scratch scratch;
    model->parameters().clear_gradients(pool);
    model->run(batches_.batch(0), true, {.pool = pool, .scratch = scratch, .training = true, .seed = 5});
    std::vector<std::vector<float>> got;
    for (const nn::Parameter& p : model->parameters().all())
      got.emplace_back(p.gradient.data(), p.gradient.data() + p.size());
    if (want.empty()) want = got;
    for (std::size_t n = 0; n < got.size(); ++n) {
      EXPECT_EQ(std::memcmp(got[n].data(), want[n].data(), got[n].size() * sizeof(float)), 0)
          << model->parameters().all()[n].name << " with " << threads << " threads";
    }
  }
}

// Without `learn` the loss is the same, and gradients stay untouched.
TEST_P(Torch, EvaluationGivesTheLossAndLeavesGradientsAlone) {
  const std::unique_ptr<TrainableModel> model = load(GetParam(), file_);
  ThreadPool pool(2);
  nn::Scratch scratch;
  model->parameters().clear_gradients(pool);
  const nn::Loss loss = model->run(batches_.batch(0), false, {.pool = pool, .scratch = scratch});
  EXPECT_NEAR(loss.mean(), file_.table("losses").numbers[0], 1e-5);
  EXPECT_EQ(nn::gradient_norm(model->parameters(), pool), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Torch,
                         testing::Values(Case{"gpt2", Task::lm}, Case{"bert-fill", Task::mlm},
                                         Case{"bert-classify", Task::classify}, Case{"bart", Task::translate}),
                         [](const auto& one) { return std::string(name_of(one.param.task)); });

}  // namespace
}  // namespace attn::train
