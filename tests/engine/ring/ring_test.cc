#include "attn/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "tests/engine/ring/ring_support.h"
#include "tests/support/errors.h"
#include "tests/support/reference.h"
#include "tests/support/thread_ranks.h"

namespace attn::test {
namespace {

// ---- the split ----

TEST(RingSplitTest, EveryTokenHasOneOwnerAndSharesDifferByOne) {
  for (int ranks = 1; ranks <= 7; ++ranks) {
    for (std::int64_t length = ranks; length < 60; ++length) {
      const RingSplit split(length, ranks);
      std::vector<int> owners(static_cast<std::size_t>(length), 0);
      for (int rank = 0; rank < ranks; ++rank) {
        std::int64_t count = 0;
        for (const Stretch& half : split.of(rank)) {
          for (std::int64_t i = half.begin; i < half.end; ++i) ++owners[static_cast<std::size_t>(i)];
          count += half.size();
        }
        EXPECT_EQ(count, split.size(rank));
        EXPECT_TRUE(count == length / ranks || count == length / ranks + 1);
      }
      EXPECT_EQ(owners, std::vector<int>(static_cast<std::size_t>(length), 1)) << ranks << " ranks, " << length;
    }
  }
}

TEST(RingSplitTest, CausalMaskGivesAllRanksEquallyManyPairs) {
  const RingSplit split(4096, 4);
  for (int rank = 0; rank < 4; ++rank) {
    std::int64_t pairs = 0;
    for (const Stretch& half : split.of(rank)) {
      for (std::int64_t i = half.begin; i < half.end; ++i) pairs += i + 1;
    }
    EXPECT_NEAR(static_cast<double>(pairs) / (4096.0 * 4097 / 2), 0.25, 1e-3) << "rank " << rank;
  }
}

TEST(RingSplitTest, MoreRanksThanTokensAreRefused) {
  EXPECT_EQ(argument_error([] { RingSplit(3, 4); }), "4 ranks cannot share 3 tokens: there must be a token for each");
}

// ---- against the textbook ----

struct Case {
  int ranks;
  std::uint64_t seed;
};

class RingOfRandomProblems : public testing::TestWithParam<Case> {};

TEST_P(RingOfRandomProblems, AgreesWithTheTextbook) {
  const auto [count, seed] = GetParam();
  const Problem p = random_problem(seed);
  SCOPED_TRACE(p.text + ", " + std::to_string(count) + " ranks");
  const Tensor d_out = random_d_out(p);
  if (p.sizes.N < count || p.sizes.M < count) {
    EXPECT_THROW(on_ranks(count, [&](Ranks& ranks) { run_ring(p, d_out, ranks); }), std::invalid_argument);
    return;
  }
  const Textbook book = textbook(p.inputs(), p.options);
  const TextbookGradients gradients = textbook_gradients(p, d_out);
  std::mutex mutex;
  on_ranks(count, [&](Ranks& ranks) {
    const RingRun run = run_ring(p, d_out, ranks);
    const std::scoped_lock lock(mutex);
    EXPECT_TRUE(out_agrees(book, run.results.out.floats())) << "rank " << ranks.rank();
    EXPECT_TRUE(lse_agrees(book, run.results.lse_view())) << "rank " << ranks.rank();
    EXPECT_TRUE(agree(gradients, run.gradients)) << "rank " << ranks.rank();
  });
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::uint64_t seed = 1; seed <= 240; ++seed) all.push_back({static_cast<int>(1 + seed % 5), 9000 + seed});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Rings, RingOfRandomProblems, testing::ValuesIn(cases()), [](const auto& at) {
  return "ranks" + std::to_string(at.param.ranks) + "_seed" + std::to_string(at.param.seed);
});

// ---- against one process ----

Problem long_problem(std::int64_t length, Mask mask) {
  Problem p = plain_problem({.N = length, .M = length, .D = 8, .E = 8});
  p.options.mask = std::move(mask);
  return p;
}

// Expects out, lse and gradients of the ring to equal those of one process. Returns the report of rank 0.
RingReport as_one_process(const Problem& p, int count, double of_keys = 1e-5) {
  const Tensor d_out = random_d_out(p);
  const Results one = run(p);
  const GradientTensors gradients = differentiate(p, d_out);
  RingReport report;
  on_ranks(count, [&](Ranks& ranks) {
    const RingRun all = run_ring(p, d_out, ranks);
    if (ranks.rank() != 0) return;
    report = all.forward;
    EXPECT_LT(distance(all.results.out, one.out), 1e-5);
    EXPECT_LT(distance(all.results.lse, one.lse), 1e-5);
    EXPECT_LT(distance(all.gradients.dq, gradients.dq), 1e-5);
    EXPECT_LT(distance(all.gradients.dk, gradients.dk), of_keys);
    EXPECT_LT(distance(all.gradients.dv, gradients.dv), of_keys);
  });
  return report;
}

TEST(Ring, EqualsOneProcessWithinAHundredThousandth) {
  for (const char* mask : {"everything", "causal", "causal & window(100,0)", "window(40)", "block(128)"}) {
    for (const std::int64_t length : {1024, 1001}) {
      Problem p = plain_problem({.B = 1, .H = 4, .G = 2, .N = length, .M = length, .D = 64, .E = 64});
      p.options.mask = parse_mask(mask);
      SCOPED_TRACE(mask);
      as_one_process(p, 3);
    }
  }
}

// Pieces of a little more than 1,024 keys: two laps, on an even and an odd number of ranks.
TEST(Ring, LongStretchesTravelInPiecesWithTheSameResult) {
  struct Long {
    int ranks;
    std::int64_t length;
    const char* mask;
  };
  for (const auto& [count, length, mask] : {Long{2, 8301, "everything"}, Long{2, 8301, "causal"},
                                            Long{2, 8301, "causal & window(700,0)"}, Long{3, 12301, "causal"}}) {
    SCOPED_TRACE(mask);
    const RingReport report = as_one_process(long_problem(length, parse_mask(mask)), count, 2e-5);
    EXPECT_EQ(report.sent + report.skipped, 2 * 2 * (count - 1));
  }
}

TEST(Ring, PiecesOfOneStretchMayGoToDifferentRanks) {
  as_one_process(long_problem(16501, Window{900}), 4, 2e-5);
  // Stretches of 2,048 tokens, two pieces each. Of rank 0's first stretch, rank 1 sees the second piece only and rank 2
  // sees both; of its last stretch, rank 1 sees the first piece. Rank 1 passes on one piece, of rank 2.
  const Mask mask = parse_mask("window(16) | (causal(-5120) & ~causal(-6001))");
  const RingReport report = as_one_process(long_problem(12288, mask), 3, 2e-5);
  EXPECT_EQ(report.sent, 4);
}

TEST(Ring, DoesNotDependOnThreads) {
  Problem p = plain_problem({.B = 2, .H = 2, .G = 1, .N = 700, .M = 700, .D = 32, .E = 32});
  p.options.mask = Causal{};
  const Tensor d_out = random_d_out(p);
  on_ranks(2, [&](Ranks& ranks) {
    const RingRun one = run_ring(p, d_out, ranks, 1);
    const RingRun three = run_ring(p, d_out, ranks, 3);
    if (ranks.rank() != 0) return;
    EXPECT_TRUE(same_bits(one.results.out, three.results.out));
    EXPECT_TRUE(one.gradients.same_bits(three.gradients));
  });
}

// ---- messages ----

struct Sent {
  std::int64_t sent = 0, skipped = 0, bytes = 0;
};

Sent sent_under(const char* mask, std::int64_t length, int count) {
  Problem p = plain_problem({.N = length, .M = length, .D = 8, .E = 8});
  p.options.mask = parse_mask(mask);
  const Tensor d_out = random_d_out(p);
  Sent all;
  std::mutex mutex;
  on_ranks(count, [&](Ranks& ranks) {
    const RingReport report = run_ring(p, d_out, ranks).forward;
    const std::scoped_lock lock(mutex);
    all.sent += report.sent;
    all.skipped += report.skipped;
    all.bytes += report.bytes;
  });
  return all;
}

TEST(Ring, WithoutAMaskEveryRankReceivesAllOtherKeys) {
  const Sent all = sent_under("everything", 1024, 4);
  EXPECT_EQ(all.sent, 4 * 3 * 2);
  EXPECT_EQ(all.skipped, 0);
  EXPECT_EQ(all.bytes, 3 * 1024 * (8 + 8) * 4);
}

TEST(Ring, KeysHiddenByTheMaskAreNotSent) {
  // A late stretch comes after all queries of the ranks whose late stretch is before it.
  const Sent causal = sent_under("causal", 1024, 4);
  EXPECT_EQ(causal.sent, 4 * 3 * 2 - 6);
  EXPECT_EQ(causal.skipped, 6);
  // Stretches of 128 tokens, each visible from its two neighbours; the last early one and the first late one belong to
  // one rank.
  const Sent window = sent_under("window(16)", 1024, 4);
  EXPECT_EQ(window.sent, 2 * (8 - 1) - 2);
  EXPECT_EQ(window.sent + window.skipped, 4 * 3 * 2);
  EXPECT_EQ(sent_under("block(1)", 1024, 4).bytes, 0);
  // Documents that end with a stretch; rules may know only for parts whether anything is visible.
  std::string ids;
  for (int i = 0; i < 4096; ++i) ids += (i == 0 ? "" : ",") + std::to_string(i / 512);
  EXPECT_EQ(sent_under(("document(" + ids + ")").c_str(), 4096, 4).bytes, 0);
}

TEST(Ring, OnlyVisiblePiecesOfALongStretchAreSent) {
  // Stretches of 4,096 tokens in four pieces; across each of the two borders between ranks, one piece goes each way.
  const Sent window = sent_under("window(16)", 16384, 2);
  EXPECT_EQ(window.sent, 4);
  EXPECT_EQ(window.skipped, 4 * 2 * 2 - 4);
  EXPECT_EQ(window.bytes, 4 * 1024 * (8 + 8) * 4);
}

TEST(Ring, KeysComeFromTheirOwnerIfTheNeighbourDoesNotNeedThem) {
  // The early stretches of ranks 0 and 2 see each other, as do all other tokens: rank 1 does not need the former.
  Problem p = plain_problem({.N = 1024, .M = 1024, .D = 8, .E = 8});
  std::vector<std::int64_t> documents(1024, 1);
  const RingSplit split(1024, 4);
  for (const int rank : {0, 2}) {
    const Stretch early = split.of(rank)[0];
    std::fill(documents.begin() + early.begin, documents.begin() + early.end, 0);
  }
  p.options.mask = Document{{documents}};
  const Tensor d_out = random_d_out(p);
  const Textbook book = textbook(p.inputs(), p.options);
  const TextbookGradients gradients = textbook_gradients(p, d_out);
  on_ranks(4, [&](Ranks& ranks) {
    const RingRun run = run_ring(p, d_out, ranks);
    if (ranks.rank() != 0) return;
    // Its early keys go to rank 2 and not to rank 1; five other messages are its late keys and those it passes on.
    EXPECT_EQ(run.forward.sent, 6);
    EXPECT_EQ(run.forward.skipped, 1);
    EXPECT_TRUE(out_agrees(book, run.results.out.floats()));
    EXPECT_TRUE(agree(gradients, run.gradients));
  });
}

// ---- errors ----

// The message of each rank if rank 1 calls with other arguments than the others.
std::vector<std::string> said_when(const std::function<void(RingPart&, Ring&)>& change) {
  const Problem p = plain_problem({.H = 2, .G = 2, .N = 64, .M = 64, .D = 8, .E = 8});
  std::vector<std::string> said(3);
  on_ranks(3, [&](Ranks& ranks) {
    RingPart part(p, ranks);
    Ring ring{ranks, 64, 64};
    if (ranks.rank() == 1) change(part, ring);
    Tensor out({1, part.q.shape()[1], part.q.shape()[2], 8});
    ThreadPool pool(1);
    said[static_cast<std::size_t>(ranks.rank())] =
        argument_error([&] { ring_attention(part.inputs(), part.options, ring, out.floats(), {}, pool); });
  });
  return said;
}

TEST(RingAgreement, AnotherShapeOnOneRankIsReportedByAll) {
  const std::string heads =
      "ring_attention: the whole q is [1, 1, 64, 8] of float32 on rank 1 and [1, 2, 64, 8] of "
      "float32 on rank 0, but must be the same";
  EXPECT_EQ(said_when([](RingPart& part, Ring&) {
              part.q = Tensor({1, 1, part.q.shape()[2], 8});
              part.k = Tensor({1, 1, part.k.shape()[2], 8});
              part.v = Tensor({1, 1, part.v.shape()[2], 8});
            }),
            std::vector<std::string>(3, heads));
  EXPECT_EQ(
      said_when([](RingPart& part, Ring&) { part.q = Tensor({1, 2, 5, 8}); }),
      std::vector<std::string>(3, "ring_attention: rank 1: there are 5 queries, but this rank's share of 64 is 21"));
}

TEST(RingAgreement, OtherOptionsOnOneRankAreReportedByAll) {
  EXPECT_EQ(said_when([](RingPart& part, Ring&) { part.options.softcap = 3; })[0],
            "ring_attention: softcap is 3 on rank 1 and 0 on rank 0, but must be the same");
  const std::vector<std::string> mask = said_when([](RingPart& part, Ring&) { part.options.mask = Causal{}; });
  EXPECT_NE(mask[2].find("what the mask rules out is"), std::string::npos) << mask[2];
  EXPECT_NE(said_when([](RingPart&, Ring& ring) { ring.queries = 2; })[0].find("rank 1: 3 ranks cannot share 2 tokens"),
            std::string::npos);
  const TilePlan plan(Mask(), {1, 2, 64, 64});
  EXPECT_EQ(said_when([&](RingPart& part, Ring&) { part.options.plan = &plan; })[2],
            "ring_attention: rank 1: a plan is not supported: every block has its own");
}

}  // namespace
}  // namespace attn::test
