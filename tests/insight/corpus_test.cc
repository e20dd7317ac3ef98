#include "insight/experiments/corpus.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "tests/model/families/golden_support.h"

namespace attn::insight {
namespace {

const std::vector<std::string> kTexts = {
    "the cat sat on the mat", "a dog", "", "the fox and the dog, and the fox", " ", "one", "the end"};

class CorpusOfTexts : public testing::Test {
 protected:
  void add(Corpus& corpus, std::size_t from, std::size_t to) {
    for (std::size_t n = from; n < to; ++n) corpus.add(kTexts[n], pool_);
    corpus.finish(pool_);
  }

  model::Reader reader_ = model::Reader::load(test::GoldenModel("bert").folder());
  ThreadPool pool_{2};
};

TEST_F(CorpusOfTexts, MeansEqualThoseOfTheTextsOneByOne) {
  Corpus corpus(reader_, {});
  add(corpus, 0, kTexts.size());
  double entropy = 0, first = 0;
  for (const std::string& text : kTexts) {
    if (text.find_first_not_of(' ') == std::string::npos) continue;
    const RecordedTables tables(model::read(reader_, {.text = text, .pair = {}, .target = {}}, {}, pool_));
    const HeadStatistics head = statistics(tables, {}, pool_)[3];
    entropy += head.entropy / 5;
    first += head.shares.first / 5;
  }
  EXPECT_EQ(corpus.counts().texts, 5);
  EXPECT_EQ(corpus.counts().empty, 2);
  EXPECT_NEAR(corpus.means()[3].entropy, entropy, 1e-5);
  EXPECT_NEAR(corpus.means()[3].shares.first, first, 1e-5);
}

TEST_F(CorpusOfTexts, ResumingFromSavedSumsGivesTheSameBits) {
  Corpus whole(reader_, {}), begun(reader_, {}), continued(reader_, {});
  add(whole, 0, 4);
  add(whole, 4, kTexts.size());
  add(begun, 0, 4);
  continued.load(begun.save());
  add(continued, 4, kTexts.size());
  EXPECT_TRUE(whole.save() == continued.save());
}

TEST_F(CorpusOfTexts, MergedPartsEqualTheWhole) {
  Corpus whole(reader_, {}), one(reader_, {}), other(reader_, {});
  add(whole, 0, kTexts.size());
  add(one, 0, 3);
  add(other, 3, kTexts.size());
  one.merge(other.save());
  EXPECT_EQ(one.counts().texts, whole.counts().texts);
  EXPECT_EQ(one.counts().empty, whole.counts().empty);
  EXPECT_EQ(one.counts().tokens, whole.counts().tokens);
  const auto a = whole.means(), b = one.means();
  for (std::size_t h = 0; h < a.size(); ++h) {
    EXPECT_NEAR(a[h].entropy, b[h].entropy, 1e-6);
    EXPECT_EQ(a[h].induction_queries, b[h].induction_queries);
    for (const ShareName& name : kShareNames) EXPECT_NEAR(a[h].shares.*name.share, b[h].shares.*name.share, 1e-6);
  }
}

TEST_F(CorpusOfTexts, MergeRejectsAnotherShapeAndChangesNothing) {
  Corpus corpus(reader_, {});
  add(corpus, 0, 2);
  const std::string before = corpus.save();
  EXPECT_THROW(corpus.merge("{}"), std::invalid_argument);
  EXPECT_TRUE(corpus.save() == before);
}

TEST_F(CorpusOfTexts, StatisticsDoNotDependOnTheBatch) {
  Corpus together(reader_, {}), alone(reader_, {});
  add(together, 0, kTexts.size());
  for (std::size_t n = 0; n < kTexts.size(); ++n) add(alone, n, n + 1);
  const auto a = together.means(), b = alone.means();
  for (std::size_t h = 0; h < a.size(); ++h) {
    EXPECT_NEAR(a[h].entropy, b[h].entropy, 1e-5);
    EXPECT_NEAR(a[h].distance, b[h].distance, 1e-5);
    for (const ShareName& name : kShareNames) EXPECT_NEAR(a[h].shares.*name.share, b[h].shares.*name.share, 1e-5);
  }
}

TEST_F(CorpusOfTexts, TruncatedTextsKeepTheirLastSpecialToken) {
  Corpus corpus(reader_, {.max_tokens = 4});
  add(corpus, 0, 1);
  EXPECT_EQ(corpus.counts().cut, 1);
  EXPECT_EQ(corpus.counts().tokens, 4);
  EXPECT_GT(corpus.means()[0].shares.separators, 0);
}

TEST_F(CorpusOfTexts, NanSurvivesSaving) {
  Corpus corpus(reader_, {});
  add(corpus, 0, 1);
  std::string saved = corpus.save();
  const std::size_t first = saved.find("[[") + 2;
  saved.replace(first, saved.find(',', first) - first, "null");
  corpus.load(saved);
  EXPECT_TRUE(std::isnan(corpus.means()[0].entropy));
  EXPECT_FALSE(std::isnan(corpus.means()[1].entropy));
  EXPECT_TRUE(corpus.save() == saved);
}

TEST_F(CorpusOfTexts, LoadRejectsAnotherShape) {
  Corpus corpus(reader_, {});
  EXPECT_THROW(corpus.load("{}"), std::invalid_argument);
  EXPECT_THROW(corpus.load("not JSON"), std::invalid_argument);
  std::string fewer = corpus.save();  // without the last head
  fewer.replace(fewer.rfind(",["), fewer.rfind("]]") - fewer.rfind(",[") + 1, "");
  EXPECT_THROW(corpus.load(fewer), std::invalid_argument);
}

TEST_F(CorpusOfTexts, MeansOfNoTextThrow) {
  Corpus corpus(reader_, {});
  add(corpus, 2, 3);
  EXPECT_THROW(static_cast<void>(corpus.means()), std::invalid_argument);
}

}  // namespace
}  // namespace attn::insight
