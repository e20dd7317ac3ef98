#include "insight/tables/distributed_heads.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "attn/ring.h"

namespace attn::insight {

namespace {

constexpr int kHeadsTag = 1;

using model::AttentionRecord;
using Halves = std::array<Stretch, 2>;

// A recording in which each head is a layer of its own, numbered per kind.
model::Recording recording_of(std::vector<SomeHeads::One>& heads) {
  model::Recording recording;
  std::int64_t layer = 0;
  for (std::size_t n = 0; n < heads.size(); ++n) {
    layer = n == 0 || heads[n - 1].name.kind != heads[n].name.kind ? 0 : layer + 1;
    heads[n].record.layer = layer;
    recording.log.insert(std::move(heads[n].record));
  }
  return recording;
}

// The rule of one head: its own column or row of every bias.
model::Rule rule_of(const model::Rule& all, std::int64_t head) {
  model::Rule rule = all;
  if (all.bias) {
    const nn::Matrix& table = all.bias->table;
    auto own = std::make_shared<model::BucketBias>(model::BucketBias{nn::Matrix(table.rows(), 1), all.bias->rule});
    for (std::int64_t b = 0; b < table.rows(); ++b) own->table.row(b)[0] = table.row(b)[head];
    rule.bias = std::move(own);
  }
  if (all.distance_bias && all.distance_bias->rows() > 1) {
    auto own = std::make_shared<nn::Matrix>(1, all.distance_bias->columns());
    std::copy_n(all.distance_bias->row(head), own->columns(), own->data());
    rule.distance_bias = std::move(own);
  }
  if (all.sink) {
    auto own = std::make_shared<nn::Matrix>(1, 1);
    own->data()[0] = all.sink->row(0)[head];
    rule.sink = std::move(own);
  }
  return rule;
}

// An uninitialised record of one head, with room for `queries` and `keys` rows.
AttentionRecord one_head(const AttentionRecord& all, std::int64_t head, std::int64_t queries, std::int64_t keys) {
  AttentionRecord one;
  one.kind = all.kind;
  one.shape = {1, 1, all.shape.width};
  one.rule = rule_of(all.rule, head);
  one.queries = queries;
  one.keys = keys;
  one.q = nn::Matrix(queries, all.shape.width);
  one.k = nn::Matrix(keys, all.shape.width);
  one.lse = nn::Matrix(1, queries);
  return one;
}

// This rank's rows of a head.
AttentionRecord rows_of_head(const AttentionRecord& all, std::int64_t head) {
  AttentionRecord one = one_head(all, head, all.queries, all.keys);
  const std::int64_t width = all.shape.width, key_head = head / (all.shape.heads / all.shape.key_heads);
  for (std::int64_t i = 0; i < all.queries; ++i) std::copy_n(all.q.row(i) + head * width, width, one.q.row(i));
  for (std::int64_t j = 0; j < all.keys; ++j) std::copy_n(all.k.row(j) + key_head * width, width, one.k.row(j));
  std::copy_n(all.lse.row(head), all.queries, one.lse.data());
  return one;
}

// Calls take() with the numbers of these queries and keys, run by run: in the same order and sizes on the sender and
// the receiver.
template <typename F>
void each_run(AttentionRecord& one, const Halves& queries, const Halves& keys, const F& take) {
  const auto runs = [&](nn::Matrix& numbers, const Halves& halves, std::int64_t width) {
    for (const Stretch& half : halves) {
      if (half.size() > 0)
        take(std::as_writable_bytes(
            std::span(numbers.data() + half.begin * width, static_cast<std::size_t>(half.size() * width))));
    }
  };
  runs(one.q, queries, one.shape.width);
  runs(one.k, keys, one.shape.width);
  runs(one.lse, queries, 1);
}

// The same rows in a record that holds no others.
Halves closed_up(const Halves& halves) {
  return {Stretch{0, halves[0].size()}, Stretch{halves[0].size(), halves[0].size() + halves[1].size()}};
}

}  // namespace

SomeHeads::SomeHeads(const AttentionLayout& layout, std::vector<One> heads)
    : RecordedTables(recording_of(heads)), layout_(layout) {
  for (const One& one : heads) names_.push_back(one.name);
}

HeadId SomeHeads::name_of(const HeadId& here) const {
  const auto first = std::ranges::find(names_, here.kind, &HeadId::kind);
  return first[here.layer];
}

const std::vector<text::Token>& SomeHeads::queries(Kind kind) const noexcept { return layout_.queries(kind); }
const std::vector<text::Token>& SomeHeads::keys(Kind kind) const noexcept { return layout_.keys(kind); }

std::vector<Round> rounds_of(Ranks& ranks, const std::vector<HeadId>& heads, int threads) {
  const std::vector<std::string> all = ranks.gather(std::to_string(threads));
  std::vector<Round> rounds;
  for (auto next = heads.begin(); next != heads.end();) {
    Round& round = rounds.emplace_back();
    for (const std::string& count : all) {
      const auto end = next + std::min<std::ptrdiff_t>(std::stoi(count), heads.end() - next);
      round.emplace_back(next, end);
      next = end;
    }
  }
  return rounds;
}

std::unique_ptr<SomeHeads> collect(Ranks& ranks, const AttentionLayout& layout, const Round& round) {
  const model::AttentionLog& part = layout.recording()->log;
  const auto halves = [&](std::int64_t length, int rank) { return RingSplit(length, ranks.size()).of(rank); };
  const std::unique_ptr<Transfers> transfers = ranks.transfers();
  std::vector<SomeHeads::One> heads;
  for (const HeadId& name : round[static_cast<std::size_t>(ranks.rank())]) {
    const AttentionStack& stack = layout.stack(name.kind);
    SomeHeads::One& one = heads.emplace_back();
    one.name = name;
    one.record = one_head(part.attention(name.kind, name.layer), name.head, stack.queries, stack.keys);
    for (int from = 0; from < ranks.size(); ++from) {
      each_run(one.record, halves(stack.queries, from), halves(stack.keys, from),
               [&](std::span<std::byte> run) { transfers->receive(run, from, kHeadsTag); });
    }
  }
  std::vector<AttentionRecord> sent;
  for (int to = 0; to < ranks.size(); ++to) {
    for (const HeadId& name : round[static_cast<std::size_t>(to)]) {
      const AttentionStack& stack = layout.stack(name.kind);
      AttentionRecord& mine = sent.emplace_back(rows_of_head(part.attention(name.kind, name.layer), name.head));
      each_run(mine, closed_up(halves(stack.queries, ranks.rank())), closed_up(halves(stack.keys, ranks.rank())),
               [&](std::span<std::byte> run) { transfers->send(run, to, kHeadsTag); });
    }
  }
  transfers->wait();
  return heads.empty() ? nullptr : std::make_unique<SomeHeads>(layout, std::move(heads));
}

}  // namespace attn::insight
