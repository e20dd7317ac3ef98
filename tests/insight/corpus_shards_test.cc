#include "insight/experiments/corpus_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>

#include "tests/model/families/golden_support.h"
#include "tests/support/thread_ranks.h"

namespace attn::insight {
namespace {

// Short texts, empty texts, and some that end a shard by their length.
std::vector<std::string> many_texts(std::size_t count) {
  const std::vector<std::string> words = {"the", "cat", "sat", "on", "a", "mat", "and", "fox", "dog", ",", "ran", "."};
  std::vector<std::string> texts(count);
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t length = n % 50 == 7 ? 6000 : n * n % 11;
    for (std::size_t w = 0; w < length; ++w) texts[n] += words[(n + w * (w + n)) % words.size()] + " ";
  }
  return texts;
}

struct Asked {
  std::int64_t from = 0, limit = 0;
  std::string begun;  // sums of the first `from`
};

class CorpusInShards : public testing::Test {
 protected:
  using Between = std::function<void(const Corpus&, const ShardsSoFar&)>;

  // The sums that rank 0 ends with.
  std::string sums(int count, const Asked& asked = {}, const Between& between = {}) const {
    std::string result;
    test::on_ranks(count, [&](Ranks& ranks) {
      ThreadPool pool(1);
      Corpus corpus(reader_, kOptions);
      if (ranks.rank() == 0 && !asked.begun.empty()) corpus.load(asked.begun);
      const auto report = [&](const ShardsSoFar& so_far) {
        EXPECT_EQ(ranks.rank(), 0);
        EXPECT_GE(so_far.read, so_far.in_sums);
        if (between) between(corpus, so_far);
      };
      together(ranks, [&] { add_shards(corpus, {source(), asked.from, asked.limit}, report, ranks, pool); });
      if (ranks.rank() == 0) result = corpus.save();
    });
    return result;
  }

  // The texts from the first on, for one rank.
  [[nodiscard]] std::function<std::optional<std::string>()> source() const {
    return [this, n = std::size_t{0}]() mutable -> std::optional<std::string> {
      return n < texts_.size() ? std::optional(texts_[n++]) : std::nullopt;
    };
  }

  static constexpr CorpusOptions kOptions = {.beyond = 16, .max_tokens = 24};
  model::Reader reader_ = model::Reader::load(test::GoldenModel("bert").folder());
  std::vector<std::string> texts_ = many_texts(400);
};

TEST_F(CorpusInShards, AnyNumberOfRanksGivesTheSameBits) {
  const std::string alone = sums(1);
  for (const int ranks : {2, 3, 4}) EXPECT_TRUE(sums(ranks) == alone) << ranks << " ranks";
}

TEST_F(CorpusInShards, ASingleProcessIsOneRank) {
  const std::unique_ptr<Ranks> alone = attn::alone();
  ThreadPool pool(2);
  Corpus corpus(reader_, kOptions);
  add_shards(corpus, {source()}, [](const ShardsSoFar&) {}, *alone, pool);
  EXPECT_TRUE(corpus.save() == sums(1));
}

TEST_F(CorpusInShards, MeansEqualThoseOfTheTextsOneByOne) {
  ThreadPool pool(1);
  Corpus in_shards(reader_, kOptions), one_by_one(reader_, kOptions);
  in_shards.load(sums(3));
  for (const std::string& text : texts_) {
    one_by_one.add(text, pool);
    one_by_one.finish(pool);
  }
  EXPECT_EQ(in_shards.counts().texts, one_by_one.counts().texts);
  EXPECT_EQ(in_shards.counts().tokens, one_by_one.counts().tokens);
  EXPECT_EQ(in_shards.counts().cut, one_by_one.counts().cut);
  EXPECT_EQ(in_shards.counts().empty, one_by_one.counts().empty);
  const auto a = in_shards.means(), b = one_by_one.means();
  for (std::size_t h = 0; h < a.size(); ++h) {
    EXPECT_NEAR(a[h].entropy, b[h].entropy, 1e-5);
    for (const ShareName& name : kShareNames) EXPECT_NEAR(a[h].shares.*name.share, b[h].shares.*name.share, 1e-5);
  }
}

// A run may stop anywhere; another one resumes it with any number of ranks.
TEST_F(CorpusInShards, ResumingFromSumsGivesTheSameBits) {
  struct Begun {
    std::int64_t texts;
    std::string sums;
  };
  std::vector<Begun> begun;
  const std::string whole = sums(3, {}, [&](const Corpus& corpus, const ShardsSoFar& so_far) {
    if (begun.empty() || begun.back().texts != so_far.in_sums) begun.push_back({so_far.in_sums, corpus.save()});
  });
  ASSERT_GT(begun.size(), 2U);
  int ranks = 0;
  for (const Begun& some : begun) {
    ranks = ranks % 4 + 1;
    EXPECT_TRUE(sums(ranks, {some.texts, 0, some.sums}) == whole) << "after " << some.texts << " texts, " << ranks;
  }
}

TEST_F(CorpusInShards, AShardEndsAtItsLimitOfTextsOrBytes) {
  std::set<std::int64_t> ends;
  static_cast<void>(sums(1, {}, [&](const Corpus&, const ShardsSoFar& so_far) { ends.insert(so_far.in_sums); }));
  std::set<std::int64_t> expected = {0};
  std::int64_t texts = 0;
  std::size_t bytes = 0;
  for (std::size_t n = 0; n < texts_.size(); ++n) {
    bytes += texts_[n].size();
    if (++texts < 64 && bytes < 16'000 && n + 1 < texts_.size()) continue;
    expected.insert(static_cast<std::int64_t>(n) + 1);
    texts = 0;
    bytes = 0;
  }
  EXPECT_EQ(ends, expected);
  EXPECT_EQ(ends.size(), 1 + 9U);  // 8 long texts, and what follows the last of them
}

TEST_F(CorpusInShards, LimitTruncatesTheCorpus) {
  ThreadPool pool(1);
  Corpus corpus(reader_, kOptions);
  corpus.load(sums(2, {.from = 0, .limit = 130, .begun = {}}));
  EXPECT_EQ(corpus.counts().texts + corpus.counts().empty, 130);
  texts_.resize(130);
  EXPECT_TRUE(sums(1) == corpus.save());
}

TEST_F(CorpusInShards, AcceptsMoreRanksThanShardsAndNoTextAtAll) {
  texts_.resize(5);
  const std::string alone = sums(1);
  EXPECT_TRUE(sums(4) == alone);
  EXPECT_TRUE(sums(3, {5, 0, alone}) == alone);
  texts_.clear();
  EXPECT_TRUE(sums(3) == Corpus(reader_, kOptions).save());
}

TEST_F(CorpusInShards, AnErrorOnOneRankStopsAll) {
  for (const int bad : {0, 1, 2}) {
    const auto run = [&](Ranks& ranks) {
      ThreadPool pool(1);
      Corpus corpus(reader_, kOptions);
      const auto texts = [&, read = source(), n = 0]() mutable {
        if (ranks.rank() == bad && n++ == 300) throw std::runtime_error("line 301 is no text");
        return read();
      };
      together(ranks, [&] { add_shards(corpus, {texts}, [](const ShardsSoFar&) {}, ranks, pool); });
    };
    const std::string rank = bad == 0 ? "" : "rank " + std::to_string(bad) + ": ";
    EXPECT_THAT([&] { test::on_ranks(3, run); },
                testing::ThrowsMessage<std::runtime_error>(rank + "line 301 is no text"));
  }
}

TEST_F(CorpusInShards, AnErrorOnRankZeroStopsTheOthers) {
  std::atomic<int> given = 0;
  const auto run = [&](Ranks& ranks) {
    ThreadPool pool(1);
    Corpus corpus(reader_, kOptions);
    // Endless: a rank that is not stopped reads forever.
    const auto texts = [&] { return ++given, std::optional<std::string>("the cat sat on a mat"); };
    const auto stop = [&](const ShardsSoFar& so_far) {
      if (so_far.read > 100) throw std::runtime_error("enough");
    };
    together(ranks, [&] { add_shards(corpus, {texts}, stop, ranks, pool); });
  };
  EXPECT_THAT([&] { test::on_ranks(3, run); }, testing::ThrowsMessage<std::runtime_error>("enough"));
  EXPECT_GT(given, 100);
}

}  // namespace
}  // namespace attn::insight
