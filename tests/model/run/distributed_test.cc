// A text that several processes share: rows, files and failures equal those of one process.
#include "model/run/distributed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "model/files/safetensors.h"
#include "model/recording/recording.h"
#include "model/recording/recording_file.h"
#include "model/run/cache.h"
#include "tests/model/families/golden_support.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"

namespace attn::model {
namespace {

using test::kKeepEverything;
using test::on_ranks;
using testing::AllOf;
using testing::HasSubstr;

Reader golden(const std::string& model) {
  return Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / model);
}

Text text_for(const Reader& reader) {
  Text text;
  text.text = "The fox — 日😀 jumps over a dog.";
  const Form form = reader.model->facts().form;
  if (form == Form::encoder_decoder) text.target = "Was it asleep, or was it not?";
  if (form == Form::encoder) text.pair = "Was it asleep?";
  return text;
}

// Whether `part` equals the whole's rows at these positions, to 1e-5.
testing::AssertionResult has_rows(const nn::Matrix& part, const nn::Matrix& whole,
                                  const std::vector<std::int64_t>& places) {
  if (part.empty() && whole.empty()) return testing::AssertionSuccess();
  if (part.rows() < std::ssize(places) || part.columns() != whole.columns())
    return testing::AssertionFailure() << "[" << part.rows() << ", " << part.columns() << "]";
  for (std::size_t r = 0; r < places.size(); ++r) {
    for (std::int64_t c = 0; c < part.columns(); ++c) {
      const float mine = part.row(static_cast<std::int64_t>(r))[c], right = whole.row(places[r])[c];
      if (!(std::fabs(mine - right) <= 1e-5F * std::max(1.0F, std::fabs(right))))
        return testing::AssertionFailure() << "row " << places[r] << ": " << mine << ", not " << right;
    }
  }
  return testing::AssertionSuccess();
}

nn::Matrix transposed(const nn::Matrix& matrix) {
  nn::Matrix out(matrix.columns(), matrix.rows());
  for (std::int64_t i = 0; i < out.rows(); ++i)
    for (std::int64_t j = 0; j < out.columns(); ++j) out.row(i)[j] = matrix.row(j)[i];
  return out;
}

void expect_part(const Recording& part, const Recording& whole, const Ranks& ranks) {
  const auto places = [&](const std::vector<text::Token>& tokens) {
    return places_of(RingSplit(std::ssize(tokens), ranks.size()), ranks.rank());
  };
  ASSERT_EQ(part.log.attentions().size(), whole.log.attentions().size());
  for (const AttentionRecord& a : part.log.attentions()) {
    const AttentionRecord& b = whole.log.attention(a.kind, a.layer);
    const auto queries = places(whole.queries(a.kind)), keys = places(whole.keys(a.kind));
    SCOPED_TRACE(std::string(name_of(a.kind)) + " layer " + std::to_string(a.layer));
    EXPECT_EQ(a.queries, std::ssize(queries));
    EXPECT_EQ(a.keys, std::ssize(keys));
    EXPECT_TRUE(has_rows(a.q, b.q, queries));
    EXPECT_TRUE(has_rows(a.k, b.k, keys));
    EXPECT_TRUE(has_rows(a.v, b.v, keys));
    EXPECT_TRUE(has_rows(a.x, b.x, queries));
    EXPECT_TRUE(has_rows(transposed(a.lse), transposed(b.lse), queries));
    EXPECT_TRUE(has_rows(transposed(a.value_norms), transposed(b.value_norms), keys));
  }
  for (const bool decoder : {false, true}) {
    const auto& mine = part.log.hidden(decoder);
    const auto& all = whole.log.hidden(decoder);
    ASSERT_EQ(mine.size(), all.size());
    for (std::size_t i = 0; i < mine.size(); ++i)
      EXPECT_TRUE(has_rows(mine[i], all[i], places(decoder ? whole.target : whole.tokens))) << i;
  }
  EXPECT_TRUE(has_rows(part.hidden, whole.hidden, places(whole.tokens)));
  if (whole.target.empty()) return;
  EXPECT_TRUE(has_rows(part.target_hidden, whole.target_hidden, places(whole.target)));
}

class EveryFamilyDistributed : public testing::TestWithParam<std::string> {
 protected:
  Reader reader_ = golden(GetParam());
  Text text_ = text_for(reader_);
  ThreadPool pool_{2};
  test::TemporaryFolder folder_;
};

TEST_P(EveryFamilyDistributed, EachRankHasItsRowsOfTheWholeRecording) {
  const Recording whole = read(reader_, text_, kKeepEverything, pool_);
  for (int count = 1; count <= 4; ++count) {
    on_ranks(count, [&](Ranks& ranks) {
      ThreadPool pool(1);
      const Recording part = read(reader_, text_, kKeepEverything, pool, {.ranks = &ranks});
      SCOPED_TRACE("rank " + std::to_string(ranks.rank()) + " of " + std::to_string(count));
      expect_part(part, whole, ranks);
    });
  }
}

TEST_P(EveryFamilyDistributed, RanksWriteTheFileOfOneProcess) {
  save_recording(read(reader_, text_, kKeepEverything, pool_), folder_ / "one.attn");
  const SafeTensors one = SafeTensors::open(folder_ / "one.attn");
  for (int count = 2; count <= 4; ++count) {
    on_ranks(count, [&](Ranks& ranks) {
      ThreadPool pool(1);
      save_recording(ranks, read(reader_, text_, kKeepEverything, pool, {.ranks = &ranks}), folder_ / "many.attn");
    });
    EXPECT_EQ(folder_.files(), 2U);
    const SafeTensors many = SafeTensors::open(folder_ / "many.attn");
    EXPECT_EQ(many.metadata(), one.metadata());
    ASSERT_EQ(many.tensors().size(), one.tensors().size());
    for (const auto& [name, right] : one.tensors()) {
      const StoredTensor& found = many.tensors().at(name);
      EXPECT_EQ(found.shape, right.shape);
      EXPECT_EQ(found.offset, right.offset);
      const auto* const a = reinterpret_cast<const float*>(found.data);
      const auto* const b = reinterpret_cast<const float*>(right.data);
      for (std::int64_t n = 0; n < right.bytes / 4; ++n)
        ASSERT_LE(std::fabs(a[n] - b[n]), 1e-5F * std::max(1.0F, std::fabs(b[n]))) << name << " number " << n;
    }
  }
}

TEST_P(EveryFamilyDistributed, EachRankCanLoadItsRowsFromAFile) {
  const Recording whole = read(reader_, text_, kKeepEverything, pool_);
  save_recording(whole, folder_ / "one.attn");
  on_ranks(3, [&](Ranks& ranks) {
    const Recording part = load_recording(folder_ / "one.attn", ranks);
    EXPECT_EQ(part.tokens.size(), whole.tokens.size());
    expect_part(part, whole, ranks);
  });
}

INSTANTIATE_TEST_SUITE_P(Golden, EveryFamilyDistributed,
                         testing::Values("bert", "roberta", "distilbert", "gpt2", "llama", "llama-dynamic", "mistral",
                                         "qwen2-window", "t5", "bart"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Distributed, PaddingBeforeARanksRowsShiftsItsPositions) {
  const Reader reader = golden("roberta");
  const std::int32_t pad = reader.model->facts().pad;
  const Batch batch({5, pad, 7, pad, 9, 6, 8, 10, 5});
  ThreadPool pool(2);
  const nn::Matrix whole = reader.model->encode(batch, {.pool = pool});
  on_ranks(3, [&](Ranks& ranks) {
    ThreadPool own(1);
    const nn::Matrix part = reader.model->encode(batch, {.pool = own, .ranks = &ranks});
    EXPECT_TRUE(has_rows(part, whole, places_of(RingSplit(9, 3), ranks.rank())));
  });
}

TEST(Distributed, HeadsOffAndMasksApplyOnAllRanks) {
  const Reader reader = golden("gpt2");
  const Text text = text_for(reader);
  const Changes changes{.off = {{Kind::self, 0, 1}, {Kind::self, 1, 0}}, .also = Window{3}};
  ThreadPool pool(2);
  const Recording whole = read(reader, text, {}, pool, {.changes = changes});
  on_ranks(3, [&](Ranks& ranks) {
    ThreadPool own(1);
    expect_part(read(reader, text, {}, own, {.changes = changes, .ranks = &ranks}), whole, ranks);
  });
}

TEST(Distributed, SeveralTextsAndCachesAreRefused) {
  const Reader reader = golden("gpt2");
  Batch two({1, 2, 3});
  two.add(std::vector<std::int32_t>{4, 5, 6});
  on_ranks(2, [&](Ranks& ranks) {
    ThreadPool pool(1);
    Cache cache;
    EXPECT_THROW(static_cast<void>(reader.model->decode(two, {.pool = pool, .ranks = &ranks})), std::invalid_argument);
    EXPECT_THROW(
        static_cast<void>(reader.model->decode(Batch({1, 2, 3}), {.pool = pool, .cache = &cache, .ranks = &ranks})),
        std::invalid_argument);
  });
}

Text just(std::string words) { return {.text = std::move(words), .pair = {}, .target = {}}; }

// The error of read() if rank 1 gets another text.
std::string words_with(const std::string& model, const Text& text, const Text& of_rank_1, int count = 2) {
  const Reader reader = golden(model);
  std::mutex mutex;
  std::vector<std::string> said;
  on_ranks(count, [&](Ranks& ranks) {
    ThreadPool pool(1);
    try {
      static_cast<void>(read(reader, ranks.rank() == 1 ? of_rank_1 : text, {}, pool, {.ranks = &ranks}));
    } catch (const std::exception& problem) {
      const std::scoped_lock lock(mutex);
      said.emplace_back(problem.what());
    }
  });
  EXPECT_EQ(std::ssize(said), count) << "all ranks must throw";
  for (const std::string& one : said) EXPECT_EQ(one, said.front());
  return said.empty() ? "" : said.front();
}

TEST(Distributed, DifferentTextsAreReportedOnAllRanks) {
  EXPECT_EQ(words_with("gpt2", just("one two three"), just("one two tree")), "rank 1 has a different text from rank 0");
}

TEST(Distributed, InvalidTextOnOneRankFailsOnAll) {
  const std::string said = words_with("gpt2", just("one two"), just(std::string(2000, 'x')));
  EXPECT_THAT(said, AllOf(HasSubstr("rank 1: "), HasSubstr("takes at most 80")));
}

TEST(Distributed, MoreRanksThanTokensAreRefused) {
  EXPECT_EQ(words_with("gpt2", just("a"), just("a"), 3),
            "the text has 1 token, too few for 3 processes: each needs at least one");
  const Text text{.text = "one two three", .pair = {}, .target = ""};
  EXPECT_EQ(words_with("t5", text, text, 2),
            "the target has 1 token, too few for 2 processes: each needs at least one");
}

TEST(Distributed, FailureOfOneRankLeavesNoFileAndAnOldOneStays) {
  const Reader reader = golden("gpt2");
  const Text text = text_for(reader);
  const test::TemporaryFolder folder;
  std::ofstream(folder / "x.attn") << "old";
  struct Stopped {};
  std::mutex mutex;
  std::vector<std::string> said;
  on_ranks(3, [&](Ranks& ranks) {
    ThreadPool pool(1);
    const Recording part = read(reader, text, {}, pool, {.ranks = &ranks});
    const auto between = [&] {
      if (ranks.rank() == 1) throw Stopped();
    };
    try {
      save_recording(ranks, part, folder / "x.attn", between);
    } catch (const Stopped&) {
      const std::scoped_lock lock(mutex);
      said.emplace_back("stopped");
    } catch (const std::runtime_error& problem) {
      const std::scoped_lock lock(mutex);
      said.emplace_back(problem.what());
    }
  });
  EXPECT_THAT(said, testing::UnorderedElementsAre("stopped", "rank 1: given up", "rank 1: given up"));
  EXPECT_EQ(folder.files(), 1U);
  std::ifstream in(folder / "x.attn");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "old");
}

TEST(Distributed, FullDiskIsDetectedBeforeWritingAndLeavesNothing) {
  const Reader reader = golden("gpt2");
  const Text text = text_for(reader);
  const test::TemporaryFolder folder;
  const test::SmallDisk disk(4096);
  on_ranks(2, [&](Ranks& ranks) {
    ThreadPool pool(1);
    const Recording part = read(reader, text, {}, pool, {.ranks = &ranks});
    try {
      save_recording(ranks, part, folder / "x.attn", [] { FAIL() << "a tensor was begun"; });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& problem) {
      EXPECT_THAT(problem.what(), HasSubstr("cannot be written: File too large"));
    }
  });
  EXPECT_EQ(folder.files(), 0U);
}

TEST(Distributed, MissingFolderIsReportedOnAllRanks) {
  const Reader reader = golden("gpt2");
  const Text text = text_for(reader);
  const test::TemporaryFolder folder;
  on_ranks(2, [&](Ranks& ranks) {
    ThreadPool pool(1);
    const Recording part = read(reader, text, {}, pool, {.ranks = &ranks});
    EXPECT_THROW(save_recording(ranks, part, folder / "none" / "x.attn"), std::runtime_error);
  });
}

}  // namespace
}  // namespace attn::model
