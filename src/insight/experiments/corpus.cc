#include "insight/experiments/corpus.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "attn/error.h"
#include "base/json_file.h"

namespace attn::insight {

namespace {

constexpr std::int64_t kCorpusBatchTokens = 1024;  // a batch of bert-base then records 75 MB

// ---- a head's statistics as a flat list of numbers ----

constexpr std::array<double HeadStatistics::*, 3> kScalars = {&HeadStatistics::entropy, &HeadStatistics::entropy_share,
                                                              &HeadStatistics::distance};
constexpr std::size_t kOfShares = kShareNames.size() + std::tuple_size_v<decltype(Shares::offsets)>;
constexpr std::size_t kNumbers = kScalars.size() + 2 * kOfShares;

// Calls visit(number, index) for every number.
template <typename Head, typename F>
void each_number(Head& head, const F& visit) {
  std::size_t at = 0;
  for (const auto scalar : kScalars) visit(head.*scalar, at++);
  for (auto* shares : {&head.shares, &head.even}) {
    for (const ShareName& name : kShareNames) visit(shares->*name.share, at++);
    for (auto& offset : shares->offsets) visit(offset, at++);
  }
}

// Whether the number is defined for this text.
bool says(const HeadStatistics& head, std::size_t number) {
  if (number == 1) return head.keys > 1;  // entropy as a share of the largest
  if (number < kScalars.size()) return true;
  const std::size_t share = (number - kScalars.size()) % kOfShares;
  if (share >= kShareNames.size()) {
    const auto offset = static_cast<std::int64_t>(share - kShareNames.size()) - kFarthestOffset;
    return pairs_at(offset, head.queries, head.keys) > 0;
  }
  if (kShareNames[share].share == &Shares::duplicate) return head.duplicate_queries > 0;
  if (kShareNames[share].share == &Shares::induction) return head.induction_queries > 0;
  return true;
}

// A broken model yields NaN, which JSON lacks: it is saved as null.
std::vector<std::vector<double>> numbers_in(const nlohmann::json& heads) {
  std::vector<std::vector<double>> numbers;
  for (const nlohmann::json& head : heads) {
    std::vector<double>& of_head = numbers.emplace_back();
    for (const nlohmann::json& number : head)
      of_head.push_back(number.is_null() ? std::numeric_limits<double>::quiet_NaN() : number.get<double>());
  }
  return numbers;
}

// ---- texts ----

// The tables of one sequence of a batch.
class SequenceTables final : public AttentionTables {
 public:
  SequenceTables(const model::Recording& batch, std::int64_t sequence, const std::vector<text::Token>& tokens)
      : AttentionTables({stack_of(batch, sequence)}), batch_(batch), sequence_(sequence), tokens_(tokens) {}

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind) const noexcept override { return tokens_; }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind) const noexcept override { return tokens_; }
  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override {
    batch_.log.weights({head.kind, head.layer, head.head, sequence_}, window, out, pool);
  }
  [[nodiscard]] Cover cover(const HeadId& head, const Tile& tile) const override {
    return batch_.log.attention(head.kind, head.layer).rule.mask().cover(tile);
  }
  [[nodiscard]] bool causal(const HeadId& head) const override {
    return batch_.log.attention(head.kind, head.layer).rule.causal;
  }
  [[nodiscard]] const model::Recording* recording() const noexcept override { return &batch_; }

 private:
  static AttentionStack stack_of(const model::Recording& batch, std::int64_t sequence) {
    const auto [queries, keys] = batch.log.size(Kind::self, sequence);
    return {Kind::self, batch.log.layers(Kind::self), batch.log.attention(Kind::self, 0).shape.heads, queries, keys};
  }

  const model::Recording& batch_;
  std::int64_t sequence_;
  const std::vector<text::Token>& tokens_;
};

}  // namespace

Corpus::Corpus(const model::Reader& reader, const CorpusOptions& options) : reader_(reader), options_(options) {
  const model::Facts& facts = reader.model->facts();
  if (facts.max_tokens > 0) options_.max_tokens = std::min(options_.max_tokens, facts.max_tokens);
  sums_.heads.assign(static_cast<std::size_t>(facts.layers * facts.heads.heads), std::vector<double>(kNumbers));
  sums_.counts.resize(kNumbers);
}

void Corpus::add(std::string_view text, ThreadPool& pool) {
  Waiting next{reader_.tokenizer.encode(text).tokens};
  if (std::ranges::all_of(next.tokens, &text::Token::special)) {
    ++waiting_empty_;
    if (waiting_.empty()) finish(pool);
    return;
  }
  next.cut = std::ssize(next.tokens) > options_.max_tokens;
  if (next.cut) model::cut_to(next.tokens, options_.max_tokens);
  waiting_tokens_ += std::ssize(next.tokens);
  waiting_.push_back(std::move(next));
  if (waiting_tokens_ >= kCorpusBatchTokens) finish(pool);
}

void Corpus::finish(ThreadPool& pool) {
  if (!waiting_.empty()) run_batch(pool);
  sums_.texts.empty += std::exchange(waiting_empty_, 0);
  waiting_.clear();
  waiting_tokens_ = 0;
}

void Corpus::run_batch(ThreadPool& pool) {
  model::Batch batch;
  for (const Waiting& one : waiting_) {
    const text::Encoding encoding{one.tokens};
    batch.add(encoding.ids(), encoding.types());
  }
  model::Recording recording;
  static_cast<void>(reader_.model->read(batch, {.pool = pool, .log = &recording.log}));
  for (std::size_t s = 0; s < waiting_.size(); ++s) {
    const SequenceTables tables(recording, static_cast<std::int64_t>(s), waiting_[s].tokens);
    add_to_sums(statistics(tables, {.beyond = options_.beyond}, pool));
    ++sums_.texts.texts;
    sums_.texts.cut += waiting_[s].cut ? 1 : 0;
    sums_.texts.tokens += std::ssize(waiting_[s].tokens);
  }
}

void Corpus::add_to_sums(const std::vector<HeadStatistics>& heads) {
  for (std::size_t h = 0; h < heads.size(); ++h) {
    each_number(heads[h], [&](double number, std::size_t at) { sums_.heads[h][at] += number; });
  }
  for (std::size_t at = 0; at < kNumbers; ++at) sums_.counts[at] += says(heads.front(), at) ? 1 : 0;
  sums_.duplicate_queries += heads.front().duplicate_queries;
  sums_.induction_queries += heads.front().induction_queries;
}

std::vector<HeadStatistics> Corpus::means() const {
  if (counts().texts == 0) throw std::invalid_argument("there is no text: all are empty");
  const std::int64_t heads = reader_.model->facts().heads.heads;
  std::vector<HeadStatistics> means(sums_.heads.size());
  for (std::size_t h = 0; h < means.size(); ++h) {
    HeadStatistics& head = means[h];
    head.name = {Kind::self, static_cast<std::int64_t>(h) / heads, static_cast<std::int64_t>(h) % heads};
    head.queries = head.keys = counts().tokens / counts().texts;
    head.duplicate_queries = sums_.duplicate_queries;
    head.induction_queries = sums_.induction_queries;
    each_number(head, [&](double& number, std::size_t at) {
      number = sums_.counts[at] > 0 ? sums_.heads[h][at] / static_cast<double>(sums_.counts[at]) : 0;
    });
  }
  return means;
}

std::string Corpus::save() const {
  const nlohmann::json saved = {{"texts", sums_.texts.texts},
                                {"cut", sums_.texts.cut},
                                {"empty", sums_.texts.empty},
                                {"tokens", sums_.texts.tokens},
                                {"duplicate_queries", sums_.duplicate_queries},
                                {"induction_queries", sums_.induction_queries},
                                {"counts", sums_.counts},
                                {"sums", sums_.heads}};
  return saved.dump();  // doubles survive the round trip exactly
}

Corpus::Sums Corpus::parsed(const std::string& saved) const {
  try {
    const nlohmann::json from = base::parse_json(saved, "the sums");
    Sums sums{{from.at("texts"), from.at("cut"), from.at("empty"), from.at("tokens")},
              numbers_in(from.at("sums")),
              from.at("counts"),
              from.at("duplicate_queries"),
              from.at("induction_queries")};
    const bool fits = sums.heads.size() == sums_.heads.size() && sums.counts.size() == kNumbers &&
                      std::ranges::all_of(sums.heads, [](const auto& head) { return head.size() == kNumbers; });
    if (!fits) throw std::invalid_argument("it has another number of heads or statistics");
    return sums;
  } catch (const Error&) {
    throw std::invalid_argument("it does not hold the sums of a corpus");
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument("it does not hold the sums of a corpus");
  }
}

void Corpus::load(const std::string& saved) { sums_ = parsed(saved); }

void Corpus::merge(const std::string& saved) {
  const Sums other = parsed(saved);
  sums_.texts.texts += other.texts.texts;
  sums_.texts.cut += other.texts.cut;
  sums_.texts.empty += other.texts.empty;
  sums_.texts.tokens += other.texts.tokens;
  sums_.duplicate_queries += other.duplicate_queries;
  sums_.induction_queries += other.induction_queries;
  for (std::size_t at = 0; at < kNumbers; ++at) sums_.counts[at] += other.counts[at];
  for (std::size_t h = 0; h < sums_.heads.size(); ++h)
    for (std::size_t at = 0; at < kNumbers; ++at) sums_.heads[h][at] += other.heads[h][at];
}

}  // namespace attn::insight
