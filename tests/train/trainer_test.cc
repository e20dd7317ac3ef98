// tests/train/trainer_test.cc - training, interrupting and resuming.
#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attn/error.h"
#include "model/run/model.h"
#include "tests/support/errors.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/train_support.h"

namespace attn::train {
namespace {

using test::error_of;
using test::SmallTraining;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

class EveryTask : public testing::TestWithParam<Task> {
 protected:
  SmallTraining small_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(All, EveryTask, testing::ValuesIn(test::kTasks),
                         [](const auto& one) { return std::string(name_of(one.param)); });

void learn(Trainer& trainer, std::int64_t until, int threads) {
  ThreadPool pool(threads);
  while (trainer.steps_done() < until) {
    trainer.step(pool);
    if (trainer.steps_done() % 4 == 0) trainer.evaluate(pool);
  }
}

// A trainer that has run this many steps and saved a checkpoint in the folder.
Trainer saved_after(std::int64_t steps, const SmallTraining& small, const TemporaryFolder& folder) {
  Trainer trainer = small.trainer();
  learn(trainer, steps, 1);
  trainer.save(folder.path());
  return trainer;
}

std::vector<std::vector<float>> values_by_parameter(Trainer& trainer) {
  std::vector<std::vector<float>> all;
  for (const nn::Parameter& p : trainer.model().parameters().all())
    all.emplace_back(p.value.data(), p.value.data() + p.size());
  return all;
}

// Compares every file of the uninterrupted run byte by byte: parameters, moments, history.
TEST_P(EveryTask, ResumesToTheSameBitsWithAnyNumberOfThreads) {
  const TemporaryFolder unbroken, broken;
  Trainer once = small_.trainer();
  learn(once, 8, 1);
  once.save(unbroken.path());

  for (const std::int64_t until : {3, 4, 7, 8}) {
    Trainer part = small_.trainer();
    EXPECT_EQ(part.resume(broken.path()), until > 3);
    learn(part, until, static_cast<int>(until % 2 + 1));
    part.save(broken.path());
  }
  for (const char* name : {"training.safetensors", "model.safetensors", "config.json"})
    EXPECT_EQ(unbroken.read(name), broken.read(name)) << name;
  EXPECT_EQ(once.history().evaluated.size(), 2);
}

TEST_P(EveryTask, LearnsItsTexts) {
  small_.plan.steps = 100;
  small_.plan.rate = 1e-2;
  Trainer trainer = small_.trainer();
  learn(trainer, 100, 2);
  EXPECT_TRUE(trainer.done());
  const std::vector<float>& losses = trainer.history().losses;
  ASSERT_EQ(losses.size(), 100);
  const double first = std::reduce(losses.begin(), losses.begin() + 5, 0.0) / 5;
  const double last = std::reduce(losses.end() - 20, losses.end(), 0.0) / 20;
  EXPECT_LT(last, 0.85 * first);
}

TEST_P(EveryTask, SavedModelLoads) {
  const TemporaryFolder folder;
  Trainer trainer = small_.trainer();
  trainer.save_model(folder.path(), true);
  EXPECT_FALSE(std::filesystem::exists(folder / "training.safetensors"));
  const std::unique_ptr<model::Model> model = model::load_model(folder.path());
  EXPECT_EQ(model->facts().width, 8);
}

TEST_P(EveryTask, WeightsTransferBetweenModels) {
  const TemporaryFolder folder;
  Trainer trainer = small_.trainer();
  learn(trainer, 2, 2);
  trainer.save_model(folder.path(), false);
  Trainer other = small_.trainer();
  EXPECT_EQ(take_weights(other.model(), folder.path()), std::ssize(other.model().parameters().all()));
  EXPECT_EQ(values_by_parameter(other), values_by_parameter(trainer));
}

// A NaN among the parameters stands for any cause of divergence.
TEST_P(EveryTask, DivergenceLeavesEverythingUnchanged) {
  Trainer trainer = small_.trainer();
  learn(trainer, 2, 2);
  nn::Parameter& first = trainer.model().parameters().all()[0];
  std::fill_n(first.value.data(), first.size(), std::numeric_limits<float>::quiet_NaN());
  std::vector<std::vector<float>> before = values_by_parameter(trainer);
  ThreadPool pool(2);
  try {
    trainer.step(pool);
    FAIL() << "went on";
  } catch (const Diverged& problem) {
    EXPECT_THAT(problem.what(), AllOf(HasSubstr("step 3"), HasSubstr("loss became NaN"), HasSubstr("lower --rate")));
  }
  std::vector<std::vector<float>> after = values_by_parameter(trainer);
  before.erase(before.begin());
  after.erase(after.begin());  // NaN is not equal to itself
  EXPECT_EQ(after, before);
  EXPECT_EQ(trainer.steps_done(), 2);
  EXPECT_EQ(trainer.history().losses.size(), 2);
}

TEST(Trainer, TooHighARateDiverges) {
  SmallTraining small(Task::lm);
  small.plan.rate = 1e30;
  small.plan.steps = 100;
  Trainer trainer = small.trainer();
  EXPECT_THROW(learn(trainer, 100, 2), Diverged);
  for (const std::vector<float>& numbers : values_by_parameter(trainer))
    EXPECT_TRUE(std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }));
}

TEST(Trainer, MissingCheckpointIsNotAnError) {
  const TemporaryFolder folder;
  Trainer trainer = SmallTraining(Task::mlm).trainer();
  EXPECT_FALSE(trainer.resume(folder.path()));
  EXPECT_FALSE(trainer.resume(folder / "not there"));
}

TEST(Trainer, CheckpointOfAnotherPlanIsRefusedWithBothValues) {
  const TemporaryFolder folder;
  const SmallTraining small(Task::mlm);
  saved_after(2, small, folder);
  const auto refused = [&](const ModelSize& shape, const TrainPlan& plan) {
    Trainer other = small.trainer(shape, plan);
    return std::string(error_of([&] { other.resume(folder.path()); }).what());
  };
  TrainPlan plan = small.plan;
  plan.steps = 9;
  EXPECT_THAT(refused(small.shape(), plan), AllOf(HasSubstr("steps is 9"), HasSubstr("was 8")));
  plan = small.plan;
  plan.rate = 0.25;
  EXPECT_THAT(refused(small.shape(), plan), AllOf(HasSubstr("rate is 0.25"), HasSubstr("was 0.005")));
  ModelSize shape = small.shape();
  shape.width = 16;
  EXPECT_THAT(refused(shape, small.plan), AllOf(HasSubstr("width is 16"), HasSubstr("was 8")));
  shape = small.shape();
  shape.inner = 20;  // which is not among the facts
  EXPECT_THAT(refused(shape, small.plan), AllOf(HasSubstr("32"), HasSubstr("20"), HasSubstr("another model")));
  shape.inner = 0;
  shape.layers = 2;
  EXPECT_THAT(refused(shape, small.plan), HasSubstr("layer.1"));
}

TEST(Trainer, TruncatedCheckpointIsRefused) {
  const TemporaryFolder folder;
  const SmallTraining small(Task::classify);
  saved_after(4, small, folder);
  const std::string whole = folder.read("training.safetensors");
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    folder.write("training.safetensors", whole.substr(0, length));
    Trainer other = small.trainer();
    EXPECT_THAT(error_of([&] { other.resume(folder.path()); }).what(), HasSubstr("training.safetensors")) << length;
  }
}

// Replaces words of the header by others of the same length.
TEST(Trainer, CheckpointWithOtherContentsIsRefused) {
  const TemporaryFolder folder;
  const SmallTraining small(Task::classify);
  saved_after(4, small, folder);
  const std::string whole = folder.read("training.safetensors");
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string bytes = whole;
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    folder.write("training.safetensors", bytes.replace(at, from.size(), to));
    Trainer other = small.trainer();
    return std::string(error_of([&] { other.resume(folder.path()); }).what());
  };
  EXPECT_THAT(refused(R"("step":"4")", R"("step":"x")"), HasSubstr("'x'"));
  EXPECT_THAT(refused(R"("step":"4")", R"("step":"9")"), AllOf(HasSubstr("'9'"), HasSubstr("from 0 to 8")));
  EXPECT_THAT(refused(R"("step":"4")", R"("step":"3")"), HasSubstr("history.losses"));
  EXPECT_THAT(refused("attnscope training 0", "attnscope training 9"), HasSubstr("format"));
  EXPECT_THAT(refused("first.classifier.bias", "first.classifier.bios"), HasSubstr("first.classifier.bias"));
  EXPECT_THAT(refused(R"("dtype":"F64")", R"("dtype":"I64")"), HasSubstr("history.judged"));
}

TEST(Trainer, FullDiskKeepsTheOldCheckpoint) {
  const TemporaryFolder folder;
  const SmallTraining small(Task::translate);
  Trainer trainer = saved_after(3, small, folder);
  const std::string before = folder.read("training.safetensors"), model = folder.read("model.safetensors");
  const std::size_t files = folder.files();
  learn(trainer, 5, 1);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{5000}, before.size() - 1}) {
    const test::SmallDisk disk(bytes);
    EXPECT_THAT(error_of([&] { trainer.save(folder.path()); }).what(), HasSubstr("File too large")) << bytes;
  }
  EXPECT_TRUE(folder.read("training.safetensors") == before);
  EXPECT_TRUE(folder.read("model.safetensors") == model);
  EXPECT_EQ(folder.files(), files) << "nothing is left behind";
  Trainer other = small.trainer();
  EXPECT_TRUE(other.resume(folder.path()));
  EXPECT_EQ(other.steps_done(), 3);
}

TEST(Trainer, WeightsOfAnotherShapeAreRefusedWithBoth) {
  const TemporaryFolder folder;
  const SmallTraining small(Task::mlm);
  small.trainer().save_model(folder.path(), false);
  ModelSize shape = small.shape();
  shape.positions = 20;
  Trainer other = small.trainer(shape, small.plan);
  EXPECT_THAT(error_of([&] { take_weights(other.model(), folder.path()); }).what(),
              AllOf(HasSubstr("12"), HasSubstr("20")));
}

// A classifier starts from a masked language model: all weights but its own head.
TEST(Trainer, OneTaskStartsFromTheWeightsOfAnother) {
  const TemporaryFolder folder;
  const SmallTraining small(Task::mlm);
  Trainer trainer = small.trainer();
  trainer.save_model(folder.path(), false);
  ModelSize shape = small.shape();
  shape.labels = {"bad", "good"};
  const std::unique_ptr<TrainableModel> classifier = make_trainable(Task::classify, shape);
  classifier->initialise(7);
  EXPECT_EQ(take_weights(*classifier, folder.path()), std::ssize(classifier->parameters().all()) - 4);
  const nn::Parameter *from = trainer.model().parameters().find("bert.embeddings.word_embeddings.weight"),
                      *to = classifier->parameters().find("bert.embeddings.word_embeddings.weight");
  EXPECT_TRUE(std::equal(from->value.data(), from->value.data() + from->size(), to->value.data()));
}

TEST(Trainer, EvaluationDoesNotChangeTraining) {
  const SmallTraining small(Task::lm);
  Trainer evaluated = small.trainer(), plain = small.trainer();
  ThreadPool pool(2);
  for (int n = 0; n < 5; ++n) {
    evaluated.step(pool);
    evaluated.evaluate(pool);
    plain.step(pool);
  }
  EXPECT_EQ(values_by_parameter(evaluated), values_by_parameter(plain));
}

}  // namespace
}  // namespace attn::train
