#include "insight/tables/distributed_tables.h"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/json_file.h"
#include "engine/runtime/copy_bytes.h"
#include "insight/tables/distributed_heads.h"

namespace attn::insight {

namespace {

constexpr int kStatisticsTag = 2;

std::vector<AttentionStack> whole_stacks(const model::Recording& part) {
  std::vector<AttentionStack> stacks = stacks_of(part.log);
  for (AttentionStack& stack : stacks) {
    stack.queries = std::ssize(part.queries(stack.kind));
    stack.keys = std::ssize(part.keys(stack.kind));
  }
  return stacks;
}

// ---- statistics, on their way to rank 0 ----

// The members of HeadStatistics other than its name and its lists.
struct DistributedSums {
  double entropy = 0, entropy_share = 0, distance = 0;
  Shares shares, even;
  std::int64_t duplicate_queries = 0, induction_queries = 0;
};
static_assert(std::is_trivially_copyable_v<DistributedSums>);

// Statistics with lists sized for a head of this stack, to receive into.
HeadStatistics empty_statistics(const HeadId& name, const AttentionStack& stack) {
  HeadStatistics head;
  head.name = name;
  head.queries = stack.queries;
  head.keys = stack.keys;
  head.received.resize(static_cast<std::size_t>(stack.keys));
  head.outgoing.resize(static_cast<std::size_t>(stack.queries));
  head.diagonal.resize(static_cast<std::size_t>(std::min(stack.queries, stack.keys)));
  return head;
}

std::size_t packed_bytes(const HeadStatistics& head) {
  return sizeof(DistributedSums) + sizeof(float) * (head.received.size() + head.outgoing.size() + head.diagonal.size());
}

std::vector<std::byte> packed(const HeadStatistics& head) {
  const DistributedSums sums{head.entropy, head.entropy_share,     head.distance,         head.shares,
                             head.even,    head.duplicate_queries, head.induction_queries};
  std::vector<std::byte> bytes(packed_bytes(head));
  std::byte* to = bytes.data();
  const auto put = [&](std::span<const std::byte> more) {
    copy_bytes(to, more.data(), more.size());
    to += more.size();
  };
  put(std::as_bytes(std::span(&sums, 1)));
  for (const auto* const list : {&head.received, &head.outgoing, &head.diagonal}) put(std::as_bytes(std::span(*list)));
  return bytes;
}

void unpack(std::span<const std::byte> bytes, HeadStatistics& head) {
  const auto take = [&](std::span<std::byte> to) {
    copy_bytes(to.data(), bytes.data(), to.size());
    bytes = bytes.subspan(to.size());
  };
  DistributedSums sums;
  take(std::as_writable_bytes(std::span(&sums, 1)));
  for (auto* const list : {&head.received, &head.outgoing, &head.diagonal})
    take(std::as_writable_bytes(std::span(*list)));
  head.entropy = sums.entropy;
  head.entropy_share = sums.entropy_share;
  head.distance = sums.distance;
  head.shares = sums.shares;
  head.even = sums.even;
  head.duplicate_queries = sums.duplicate_queries;
  head.induction_queries = sums.induction_queries;
}

// Gathers the statistics that all ranks computed in a round on rank 0, in the order of the heads.
void bring_together(Ranks& ranks, const AttentionLayout& layout, const Round& round, std::vector<HeadStatistics> mine,
                    std::vector<HeadStatistics>& all) {
  const std::unique_ptr<Transfers> transfers = ranks.transfers();
  std::vector<std::vector<std::byte>> parcels;
  if (ranks.rank() != 0) {
    for (const HeadStatistics& head : mine) transfers->send(parcels.emplace_back(packed(head)), 0, kStatisticsTag);
    transfers->wait();
    return;
  }
  std::ranges::move(mine, std::back_inserter(all));
  const std::size_t first = all.size();
  for (int from = 1; from < ranks.size(); ++from) {
    for (const HeadId& name : round[static_cast<std::size_t>(from)]) {
      const HeadStatistics& head = all.emplace_back(empty_statistics(name, layout.stack(name.kind)));
      transfers->receive(parcels.emplace_back(packed_bytes(head)), from, kStatisticsTag);
    }
  }
  transfers->wait();
  for (std::size_t n = 0; n < parcels.size(); ++n) unpack(parcels[n], all[first + n]);
}

// ---- checks ----

bool before(const CheckFailure& a, const CheckFailure& b) {
  const auto place = [](const CheckFailure& f) { return std::tuple(f.head.kind, f.head.layer, f.head.head, f.row); };
  return place(a) < place(b);
}

void take_first(std::optional<CheckFailure>& known, const std::optional<CheckFailure>& other) {
  if (other && (!known || before(*other, *known))) known = other;
}

void add_check(CheckResult& all, const CheckResult& more) {
  all.heads += more.heads;
  all.rows += more.rows;
  all.all_rows += more.all_rows;
  all.deviation = std::max(all.deviation, more.deviation);
  take_first(all.failure, more.failure);
  take_first(all.no_weight, more.no_weight);
}

nlohmann::json failure_json(const std::optional<CheckFailure>& failure) {
  if (!failure) return nullptr;
  return {static_cast<int>(failure->head.kind), failure->head.layer, failure->head.head, failure->row,
          failure->problem};
}

std::optional<CheckFailure> failure_of(const nlohmann::json& json) {
  if (json.is_null()) return std::nullopt;
  return CheckFailure{{static_cast<Kind>(json[0].get<int>()), json[1], json[2]}, json[3], json[4]};
}

CheckResult of_all(Ranks& ranks, const CheckResult& mine) {
  const nlohmann::json own = {
      mine.heads, mine.rows, mine.all_rows, mine.deviation, failure_json(mine.failure), failure_json(mine.no_weight)};
  CheckResult all;
  for (const std::string& bytes : ranks.gather(own.dump())) {
    const nlohmann::json json = base::parse_json(bytes, "the check of another rank");
    add_check(all, {json[0], json[1], json[2], json[3], failure_of(json[4]), failure_of(json[5])});
  }
  return all;
}

CheckResult checked(const SomeHeads& some, const CheckOptions& options, ThreadPool& pool) {
  CheckResult found = check_weights(some, options, pool);
  for (auto* const failure : {&found.failure, &found.no_weight})
    if (*failure) (*failure)->head = some.name_of((*failure)->head);
  return found;
}

// Statistics of the heads whose kind is requested.
std::vector<HeadStatistics> statistics_of_heads(const SomeHeads& some, const StatisticsOptions& options,
                                                ThreadPool& pool) {
  const auto& stacks = some.stacks();
  if (options.kind && std::ranges::find(stacks, *options.kind, &AttentionStack::kind) == stacks.end()) return {};
  std::vector<HeadStatistics> found = statistics(some, options, pool);
  for (HeadStatistics& head : found) head.name = some.name_of(head.name);
  return found;
}

}  // namespace

DistributedTables::DistributedTables(model::Recording part)
    : AttentionLayout(whole_stacks(part)), part_(std::move(part)) {}

const std::vector<text::Token>& DistributedTables::queries(Kind kind) const noexcept { return part_.queries(kind); }
const std::vector<text::Token>& DistributedTables::keys(Kind kind) const noexcept { return part_.keys(kind); }

Findings examine(Ranks& ranks, const DistributedTables& layout, const ExamineOptions& options, ThreadPool& pool) {
  const std::vector<HeadId> heads = layout.heads();
  const std::int64_t total = std::ssize(heads);
  std::int64_t done = 0;
  const auto progress = [&](std::int64_t, std::int64_t) { base::tell(options.progress, done, total); };
  CheckOptions check = options.check;
  check.all_weights = count_weights(layout);
  check.progress = progress;
  StatisticsOptions statistics = options.statistics.value_or(StatisticsOptions());
  statistics.progress = progress;
  statistics.also = {};
  Findings found;
  for (Round& round : rounds_of(ranks, heads, pool.threads())) {
    std::vector<HeadStatistics> mine;
    if (const std::unique_ptr<SomeHeads> some = collect(ranks, layout, round)) {
      add_check(found.check, checked(*some, check, pool));
      if (options.statistics) mine = statistics_of_heads(*some, statistics, pool);
    }
    for (std::vector<HeadId>& of_rank : round) {
      done += std::ssize(of_rank);
      std::erase_if(of_rank, [&](const HeadId& name) {
        return !options.statistics || (statistics.kind && name.kind != *statistics.kind);
      });
    }
    bring_together(ranks, layout, round, std::move(mine), found.statistics);
  }
  found.check = of_all(ranks, found.check);
  base::tell(options.progress, total, total);
  return found;
}

}  // namespace attn::insight
