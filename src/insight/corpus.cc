#include "insight/corpus.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace attn::insight {

namespace {

constexpr std::int64_t kBatchTokens = 1024;  // a recording of bert-base then takes 75 MB

// ---- a head's numbers, one behind the other ----

constexpr std::array<double HeadStatistics::*, 3> kScalars = {&HeadStatistics::entropy, &HeadStatistics::entropy_share,
                                                              &HeadStatistics::distance};
constexpr std::size_t kOfShares = kShareNames.size() + std::tuple_size_v<decltype(Shares::offsets)>;
constexpr std::size_t kNumbers = kScalars.size() + 2 * kOfShares;

// Calls visit(number, place) for every one.
template <typename Head, typename F>
void each_number(Head& head, const F& visit) {
  std::size_t at = 0;
  for (const auto scalar : kScalars) visit(head.*scalar, at++);
  for (auto* shares : {&head.shares, &head.even}) {
    for (const ShareName& name : kShareNames) visit(shares->*name.share, at++);
    for (auto& offset : shares->offsets) visit(offset, at++);
  }
}

// Whether a text has the number at all.
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

// ---- texts ----

// One sequence of a batch.
class SequenceSpecimen final : public Specimen {
 public:
  SequenceSpecimen(const model::Reading& batch, std::int64_t sequence, const std::vector<text::Token>& tokens)
      : Specimen({stack_of(batch, sequence)}), batch_(batch), sequence_(sequence), tokens_(tokens) {}

  using Specimen::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind) const noexcept override { return tokens_; }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind) const noexcept override { return tokens_; }
  void weights(const HeadName& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override {
    batch_.recording.weights({head.kind, head.layer, head.head, sequence_}, window, out, pool);
  }
  [[nodiscard]] Cover cover(const HeadName& head, const Tile& tile) const override {
    return batch_.recording.attention(head.kind, head.layer).rule.mask().cover(tile);
  }
  [[nodiscard]] bool causal(const HeadName& head) const override {
    return batch_.recording.attention(head.kind, head.layer).rule.causal;
  }
  [[nodiscard]] const model::Reading* reading() const noexcept override { return &batch_; }

 private:
  static Stack stack_of(const model::Reading& batch, std::int64_t sequence) {
    const auto [queries, keys] = batch.recording.size(Kind::self, sequence);
    return {Kind::self, batch.recording.layers(Kind::self), batch.recording.attention(Kind::self, 0).shape.heads,
            queries, keys};
  }

  const model::Reading& batch_;
  std::int64_t sequence_;
  const std::vector<text::Token>& tokens_;
};

}  // namespace

Corpus::Corpus(const model::Reader& reader, const CorpusOptions& options) : reader_(reader), options_(options) {
  const model::Facts& facts = reader.model->facts();
  if (facts.max_tokens > 0) options_.max_tokens = std::min(options_.max_tokens, facts.max_tokens);
  sums_.assign(static_cast<std::size_t>(facts.layers * facts.heads.heads), std::vector<double>(kNumbers));
  numbers_counts_.resize(kNumbers);
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
  if (waiting_tokens_ >= kBatchTokens) finish(pool);
}

void Corpus::finish(ThreadPool& pool) {
  if (!waiting_.empty()) run_batch(pool);
  counts_.empty += std::exchange(waiting_empty_, 0);
  waiting_.clear();
  waiting_tokens_ = 0;
}

void Corpus::run_batch(ThreadPool& pool) {
  model::Batch batch;
  for (const Waiting& one : waiting_) {
    const text::Encoding encoding{one.tokens};
    batch.add(encoding.ids(), encoding.types());
  }
  model::Reading reading;
  static_cast<void>(reader_.model->read(batch, {.pool = pool, .recording = &reading.recording}));
  for (std::size_t s = 0; s < waiting_.size(); ++s) {
    const SequenceSpecimen specimen(reading, static_cast<std::int64_t>(s), waiting_[s].tokens);
    add_to_sums(statistics(specimen, {.beyond = options_.beyond}, pool));
    ++counts_.texts;
    counts_.cut += waiting_[s].cut ? 1 : 0;
    counts_.tokens += std::ssize(waiting_[s].tokens);
  }
}

void Corpus::add_to_sums(const std::vector<HeadStatistics>& heads) {
  for (std::size_t h = 0; h < heads.size(); ++h) {
    each_number(heads[h], [&](double number, std::size_t at) { sums_[h][at] += number; });
  }
  for (std::size_t at = 0; at < kNumbers; ++at) numbers_counts_[at] += says(heads.front(), at) ? 1 : 0;
  duplicate_queries_ += heads.front().duplicate_queries;
  induction_queries_ += heads.front().induction_queries;
}

std::vector<HeadStatistics> Corpus::means() const {
  if (counts_.texts == 0) throw std::invalid_argument("there is no text: all are empty");
  const std::int64_t heads = reader_.model->facts().heads.heads;
  std::vector<HeadStatistics> means(sums_.size());
  for (std::size_t h = 0; h < means.size(); ++h) {
    HeadStatistics& head = means[h];
    head.name = {Kind::self, static_cast<std::int64_t>(h) / heads, static_cast<std::int64_t>(h) % heads};
    head.queries = head.keys = counts_.tokens / counts_.texts;
    head.duplicate_queries = duplicate_queries_;
    head.induction_queries = induction_queries_;
    each_number(head, [&](double& number, std::size_t at) {
      number = numbers_counts_[at] > 0 ? sums_[h][at] / static_cast<double>(numbers_counts_[at]) : 0;
    });
  }
  return means;
}

std::string Corpus::save() const {
  const nlohmann::json saved = {{"texts", counts_.texts},
                                {"cut", counts_.cut},
                                {"empty", counts_.empty},
                                {"tokens", counts_.tokens},
                                {"duplicate_queries", duplicate_queries_},
                                {"induction_queries", induction_queries_},
                                {"counts", numbers_counts_},
                                {"sums", sums_}};
  return saved.dump();  // doubles come back as they were
}

void Corpus::load(const std::string& saved) {
  try {
    const nlohmann::json from = nlohmann::json::parse(saved);
    auto sums = from.at("sums").get<std::vector<std::vector<double>>>();
    auto counts = from.at("counts").get<std::vector<std::int64_t>>();
    const bool fits = sums.size() == sums_.size() && counts.size() == kNumbers &&
                      std::ranges::all_of(sums, [](const auto& head) { return head.size() == kNumbers; });
    if (!fits) throw std::invalid_argument("it is of another number of heads or numbers");
    counts_ = {from.at("texts"), from.at("cut"), from.at("empty"), from.at("tokens")};
    duplicate_queries_ = from.at("duplicate_queries");
    induction_queries_ = from.at("induction_queries");
    sums_ = std::move(sums);
    numbers_counts_ = std::move(counts);
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument("it holds no sums of a corpus");
  }
}

}  // namespace attn::insight
