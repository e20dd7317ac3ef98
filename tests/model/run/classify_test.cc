// Classification heads. tests/program/test_classify.py checks the numbers against transformers.
#include "model/run/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "model/families/facts.h"
#include "model/files/config.h"
#include "tests/model/families/small_model.h"
#include "tests/support/errors.h"

namespace attn::test {
namespace {

using model::Batch;
using model::Config;
using model::Facts;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

SmallModel small_classifier() {
  SmallModel m = small_bert();
  m.config["architectures"] = R"(["BertForSequenceClassification"])";
  m.config["id2label"] = R"({"0": "bad", "1": "so so", "2": "good"})";
  m.add_linear("classifier", 12, 3);
  return m;
}

class Labels : public testing::Test {
 protected:
  std::vector<float> logits(const model::Model& m, const Batch& batch) {
    const nn::Matrix hidden = m.encode(batch, {.pool = pool_});
    nn::Matrix first(batch.sequences(), hidden.columns());
    for (std::int64_t s = 0; s < first.rows(); ++s)
      std::copy_n(hidden.row(batch.starts[static_cast<std::size_t>(s)]), hidden.columns(), first.row(s));
    return numbers_of(m.classify(first.view(), pool_));
  }

  ThreadPool pool_{2};
};

TEST_F(Labels, ComeFromTheConfigurationInIdOrder) {
  EXPECT_THAT(small_classifier().load()->facts().labels, ElementsAre("bad", "so so", "good"));
}

TEST_F(Labels, LogitsAreTheClassifierOfThePooledFirstToken) {
  const SmallModel small = small_classifier();
  const auto m = small.load();
  const nn::Matrix hidden = m->encode(Batch(kSmallIds), {.pool = pool_});
  const nn::Matrix pooled = m->pooled(nn::rows_of(hidden.view(), 0, 1), pool_);
  const auto got = logits(*m, Batch(kSmallIds));
  ASSERT_EQ(got.size(), 3U);
  for (std::size_t label = 0; label < 3; ++label) {
    double expected = small.tensors.at("classifier.bias").numbers[label];
    for (std::size_t i = 0; i < 12; ++i)
      expected += small.tensors.at("classifier.weight").numbers[label * 12 + i] * pooled.data()[i];
    EXPECT_NEAR(got[label], expected, 1e-5);
  }
}

TEST_F(Labels, DoNotDependOnTheBatch) {
  const auto m = small_classifier().load();
  Batch both(kSmallIds);
  both.add(std::vector<std::int32_t>{2, 7, 1});
  auto expected = logits(*m, Batch(kSmallIds));
  const auto second = logits(*m, Batch({2, 7, 1}));
  expected.insert(expected.end(), second.begin(), second.end());
  const auto got = logits(*m, both);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
}

TEST_F(Labels, AreNumberedIfTheyHaveNoNames) {
  SmallModel m = small_classifier();
  m.config.erase("id2label");
  m.config["num_labels"] = "3";
  EXPECT_THAT(m.load()->facts().labels, ElementsAre("LABEL_0", "LABEL_1", "LABEL_2"));
  m.config.erase("num_labels");
  m.add_linear("classifier", 12, 2);
  EXPECT_THAT(m.load()->facts().labels, ElementsAre("LABEL_0", "LABEL_1"));
}

TEST_F(Labels, ThatDoNotFitTheMatrixAreRefusedWithBothShapes) {
  SmallModel m = small_classifier();
  m.config["id2label"] = R"({"0": "a", "1": "b"})";
  EXPECT_THAT(m.load_error(), HasSubstr("'classifier.weight' is [3, 12]; [2, 12] is needed"));
}

TEST_F(Labels, ThatAreNotNumberedFromZeroAreRefused) {
  SmallModel m = small_classifier();
  m.config["id2label"] = R"({"1": "a", "2": "b", "3": "c"})";
  EXPECT_THAT(m.load_error(), HasSubstr("none with id 0"));
  m.config["id2label"] = R"({"0": 7})";
  EXPECT_THAT(m.load_error(), HasSubstr("id2label.0"));
  m.config["id2label"] = R"("good")";
  EXPECT_THAT(m.load_error(), HasSubstr("an object is needed"));
  m.config.erase("id2label");
  m.config["num_labels"] = "2000000000";
  EXPECT_THAT(m.load_error(), HasSubstr("num_labels is 2000000000"));
}

// A head that labels single tokens has tensors of the same names.
TEST_F(Labels, IgnoreAHeadThatLabelsTokens) {
  SmallModel m = small_classifier();
  m.config["architectures"] = R"(["BertForTokenClassification"])";
  const auto loaded = m.load();
  EXPECT_THAT(loaded->facts().labels, IsEmpty());
  const nn::Matrix row(1, 12);
  EXPECT_THAT([&] { static_cast<void>(loaded->classify(row.view(), pool_)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no classification head")));
}

TEST_F(Labels, AreEmptyWithoutAHead) {
  SmallModel m = small_classifier();
  m.tensors.erase("classifier.weight");
  EXPECT_THAT(m.load()->facts().labels, IsEmpty());
}

TEST_F(Labels, ProbabilitiesOfExclusiveLabelsSumToOne) {
  const std::vector<float> logits = {0, 2, 1};
  const auto choices = label_choices(Facts{}, logits);
  const double sum = 1 + std::exp(1) + std::exp(2);
  EXPECT_EQ(choices[0].id, 1);
  EXPECT_EQ(choices[1].id, 2);
  EXPECT_THAT(choices[0].probability, DoubleNear(std::exp(2) / sum, 1e-12));
  EXPECT_THAT(choices[2].probability, DoubleNear(1 / sum, 1e-12));
}

TEST_F(Labels, ProbabilitiesOfSeveralLabelsAreIndependent) {
  SmallModel m = small_classifier();
  m.config["problem_type"] = R"("multi_label_classification")";
  const auto loaded = m.load();
  ASSERT_TRUE(loaded->facts().several_labels);
  const std::vector<float> logits = {0, 3, -1};
  const auto choices = label_choices(loaded->facts(), logits);
  EXPECT_EQ(choices[0].id, 1);
  EXPECT_THAT(choices[0].probability, DoubleNear(0.9525741268224334, 1e-12));
  EXPECT_THAT(choices[1].probability, DoubleNear(0.5, 1e-12));
  EXPECT_THAT(choices[2].probability, DoubleNear(0.2689414213699951, 1e-12));
}

}  // namespace
}  // namespace attn::test
