#include "train/batch_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "train/training_random.h"

namespace attn::train {
namespace {

// Random streams; each use has its own.
enum Stream : std::uint64_t { order_stream = 1, step_stream = 2, evaluate_stream = 3 };

constexpr std::uint64_t kStreamSpan = std::uint64_t{1} << 40;
std::uint64_t stream_of(Stream use, std::int64_t number) {
  return use * kStreamSpan + static_cast<std::uint64_t>(number);
}

constexpr std::int64_t kEvaluatedTokens = 100'000;  // of held-out text for evaluating a language model

// Every example once per epoch, in a new order each time.
class Order {
 public:
  Order(std::int64_t size, std::uint64_t seed) : seed_(seed), order_(static_cast<std::size_t>(size)) { shuffle(0); }

  std::int64_t at(std::int64_t counter) {
    const std::int64_t round = counter / std::ssize(order_);
    if (round != round_) shuffle(round);
    return order_[static_cast<std::size_t>(counter % std::ssize(order_))];
  }

 private:
  void shuffle(std::int64_t round) {
    round_ = round;
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    Random random(seed_, stream_of(order_stream, round));
    for (std::size_t n = order_.size(); n > 1; --n) {
      std::swap(order_[n - 1], order_[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)))]);
    }
  }

  std::uint64_t seed_;
  std::vector<std::int64_t> order_;
  std::int64_t round_ = -1;
};

// The batch of a step over examples that need no preparation; add(batch, n) appends the n-th.
template <typename F>
TrainingBatch next_batch(const BatchPlan& plan, std::int64_t step, Order& order, const F& add) {
  TrainingBatch batch;
  for (std::int64_t n = 0; n < plan.batch; ++n) add(batch, order.at(step * plan.batch + n));
  return batch;
}
template <typename F>
std::vector<TrainingBatch> all_batches(const BatchPlan& plan, const TrainingCorpus& corpus, const F& add) {
  std::vector<TrainingBatch> batches;
  for (std::int64_t n = 0; n < std::ssize(corpus.held_out.ids); ++n) {
    if (n % plan.batch == 0) batches.emplace_back();
    add(batches.back(), n);
  }
  return batches;
}

std::span<const std::int32_t> ids_from(std::span<const std::int32_t> ids, std::int64_t first, std::int64_t count) {
  return ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

// All texts, concatenated and cut into sequences; the model predicts each token from those before it.
class TextBatches final : public BatchSource {
 public:
  TextBatches(const BatchPlan& plan, const TrainingCorpus& corpus, const text::Tokenizer& tokenizer)
      : plan_(plan),
        vocabulary_(tokenizer.size()),
        learned_(joined(corpus.learned, tokenizer)),
        held_out_(joined(corpus.held_out, tokenizer)),
        order_(windows(learned_), plan.seed) {}

  TrainingBatch batch(std::int64_t step) override {
    TrainingBatch batch;
    Random random(plan_.seed, stream_of(step_stream, step));
    for (std::int64_t n = 0; n < plan_.batch; ++n) {
      if (random.unit() < plan_.repeats) {
        add_repeated(batch, random);
      } else {
        const std::int64_t room = std::ssize(learned_) - windows(learned_) * plan_.length - 1;
        const std::int64_t shift = room > 0 ? random.below(room + 1) : 0;
        add(batch, learned_, order_.at(step * plan_.batch + n) * plan_.length + shift);
      }
    }
    return batch;
  }

  std::vector<TrainingBatch> held_out() override {
    std::vector<TrainingBatch> batches;
    const std::int64_t count = std::min(windows(held_out_), std::max<std::int64_t>(1, kEvaluatedTokens / plan_.length));
    for (std::int64_t n = 0; n < count && windows(held_out_) > 0; ++n) {
      if (n % plan_.batch == 0) batches.emplace_back();
      add(batches.back(), held_out_, n * plan_.length);
    }
    return batches;
  }

  [[nodiscard]] std::int64_t examples() const noexcept override { return windows(learned_); }

 private:
  static std::vector<std::int32_t> joined(const TextSequences& texts, const text::Tokenizer& tokenizer) {
    const std::int32_t end = std::max(tokenizer.special().eos, std::int32_t{0});
    std::vector<std::int32_t> all;
    for (const auto& ids : texts.ids) {
      all.push_back(end);
      all.insert(all.end(), ids.begin(), ids.end());
    }
    return all;
  }

  // Each window needs one token more than its length, as the last label.
  [[nodiscard]] std::int64_t windows(const std::vector<std::int32_t>& ids) const noexcept {
    return ids.empty() ? 0 : (std::ssize(ids) - 1) / plan_.length;
  }

  void add(TrainingBatch& batch, std::span<const std::int32_t> ids, std::int64_t first) const {
    batch.add(ids_from(ids, first, plan_.length));
    const auto next = ids_from(ids, first + 1, plan_.length);
    batch.labels.insert(batch.labels.end(), next.begin(), next.end());
  }

  // Repeats a stretch of tokens until the sequence is full; the stretch is an eighth to half of it, a piece of text or
  // random. The first occurrence of random tokens cannot be predicted and has no labels; nor has the token at which the
  // repetition begins. (Random tokens alone teach slowly: heads that attend to the previous token have formed on text.)
  void add_repeated(TrainingBatch& batch, Random& random) const {
    const std::int64_t most = std::max<std::int64_t>(plan_.length / 2, 1), least = (most + 3) / 4;
    const std::int64_t period = least + random.below(most - least + 1);
    const std::int64_t first = random.below(std::ssize(learned_) - period + 1);
    const bool text = random.below(2) == 0;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(plan_.length));
    for (std::int64_t i = 0; i < plan_.length; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i >= period) {
        ids[at] = ids[static_cast<std::size_t>(i - period)];
      } else {
        ids[at] =
            text ? learned_[static_cast<std::size_t>(first + i)] : static_cast<std::int32_t>(random.below(vocabulary_));
      }
    }
    batch.add(ids);
    for (std::int64_t next = 1; next <= plan_.length; ++next) {
      batch.labels.push_back(next == period || (!text && next < period) ? nn::kNoLabel
                                                                        : ids[static_cast<std::size_t>(next % period)]);
    }
  }

  BatchPlan plan_;
  std::int64_t vocabulary_;
  std::vector<std::int32_t> learned_, held_out_;
  Order order_;
};

// A part of a text between [CLS] and [SEP].
class PieceBatches : public BatchSource {
 public:
  PieceBatches(const BatchPlan& plan, const TrainingCorpus& corpus, const text::Tokenizer& tokenizer)
      : plan_(plan), corpus_(corpus), special_(tokenizer.special()), order_(std::ssize(corpus.learned.ids), plan.seed) {
    if (special_.cls < 0 || special_.sep < 0) {
      throw std::invalid_argument("the tokenizer has no [CLS] and [SEP]; BERT needs them to begin and end a text");
    }
  }
  [[nodiscard]] std::int64_t examples() const noexcept override { return std::ssize(corpus_.learned.ids); }

 protected:
  [[nodiscard]] std::int64_t room() const noexcept { return plan_.length - 2; }
  void add_framed(TrainingBatch& batch, std::span<const std::int32_t> piece) const {
    std::vector<std::int32_t> ids = {special_.cls};
    ids.insert(ids.end(), piece.begin(), piece.end());
    ids.push_back(special_.sep);
    batch.add(ids);
  }

  BatchPlan plan_;
  const TrainingCorpus& corpus_;
  text::SpecialIds special_;
  Order order_;
};

constexpr double kShortest = 8;  // tokens of a piece, unless the text has fewer

// Hides some tokens and predicts them (Devlin et al., 2018): of those, 8 in 10 become [MASK], 1 in 10 any other token.
class FillBatches final : public PieceBatches {
 public:
  FillBatches(const BatchPlan& plan, const TrainingCorpus& corpus, const text::Tokenizer& tokenizer)
      : PieceBatches(plan, corpus, tokenizer), vocabulary_(tokenizer.size()) {
    if (special_.mask < 0) throw std::invalid_argument("the tokenizer has no [MASK]; BERT needs it to hide words");
  }

  TrainingBatch batch(std::int64_t step) override {
    TrainingBatch batch;
    Random random(plan_.seed, stream_of(step_stream, step));
    for (std::int64_t n = 0; n < plan_.batch; ++n) {
      add(batch, corpus_.learned.ids[static_cast<std::size_t>(order_.at(step * plan_.batch + n))], random);
    }
    return batch;
  }

  std::vector<TrainingBatch> held_out() override {
    std::vector<TrainingBatch> batches;
    Random random(plan_.seed, stream_of(evaluate_stream, 0));
    std::int64_t tokens = 0, n = 0;
    for (const auto& ids : corpus_.held_out.ids) {
      if (tokens >= kEvaluatedTokens) break;
      if (n++ % plan_.batch == 0) batches.emplace_back();
      add(batches.back(), ids, random);
      tokens += std::min(std::ssize(ids), room());
    }
    return batches;
  }

 private:
  void add(TrainingBatch& batch, std::span<const std::int32_t> ids, Random& random) const {
    const std::int64_t length = std::min(piece_length(random), std::ssize(ids));
    const std::int64_t first = random.below(std::ssize(ids) - length + 1);
    add_framed(batch, ids_from(ids, first, length));
    hide(batch, random, length);
  }

  // Log-uniform: every doubling is equally likely. Short pieces teach heads to attend to neighbours: among 30 tokens a
  // neighbour carries ten times the weight that it has among 300. (With long pieces alone the loss stayed for 1,000
  // steps at what words tell without their neighbours.)
  [[nodiscard]] std::int64_t piece_length(Random& random) const {
    const auto most = static_cast<double>(room());
    const double length = kShortest * std::pow(most / kShortest, random.unit());
    return std::clamp(static_cast<std::int64_t>(std::lround(length)), std::int64_t{1}, room());
  }

  // Hides tokens of the last sequence. In a short piece, where chance might hide none, at least one is hidden.
  void hide(TrainingBatch& batch, Random& random, std::int64_t length) const {
    batch.labels.resize(batch.ids.size(), nn::kNoLabel);
    const std::int64_t begin = std::ssize(batch.ids) - 1 - length;
    const std::int64_t always = random.below(length);
    for (std::int64_t i = 0; i < length; ++i) {
      if (random.unit() >= plan_.masked && !(i == always && plan_.masked * static_cast<double>(length) < 1)) continue;
      std::int32_t& id = batch.ids[static_cast<std::size_t>(begin + i)];
      batch.labels[static_cast<std::size_t>(begin + i)] = id;
      const double how = random.unit();
      if (how < 0.8) id = special_.mask;
      if (how >= 0.9) id = static_cast<std::int32_t>(random.below(vocabulary_));
    }
  }

  std::int64_t vocabulary_;
};

// The beginning of a text, and its label.
class ClassBatches final : public PieceBatches {
 public:
  using PieceBatches::PieceBatches;

  TrainingBatch batch(std::int64_t step) override {
    return next_batch(plan_, step, order_, [&](TrainingBatch& to, std::int64_t n) { add(to, corpus_.learned, n); });
  }
  std::vector<TrainingBatch> held_out() override {
    return all_batches(plan_, corpus_, [&](TrainingBatch& to, std::int64_t n) { add(to, corpus_.held_out, n); });
  }

 private:
  void add(TrainingBatch& batch, const TextSequences& from, std::int64_t n) const {
    const auto at = static_cast<std::size_t>(n);
    add_framed(batch, ids_from(from.ids[at], 0, std::min(room(), std::ssize(from.ids[at]))));
    batch.labels.push_back(from.labels[at]);
  }
};

// The decoder reads its start token and the translation without its last token, and predicts the translation.
class PairBatches final : public BatchSource {
 public:
  PairBatches(const BatchPlan& plan, const TrainingCorpus& corpus, const text::Tokenizer& tokenizer)
      : plan_(plan),
        corpus_(corpus),
        start_(tokenizer.special().eos),
        order_(std::ssize(corpus.learned.ids), plan.seed) {}

  TrainingBatch batch(std::int64_t step) override {
    return next_batch(plan_, step, order_, [&](TrainingBatch& to, std::int64_t n) { add(to, corpus_.learned, n); });
  }
  std::vector<TrainingBatch> held_out() override {
    return all_batches(plan_, corpus_, [&](TrainingBatch& to, std::int64_t n) { add(to, corpus_.held_out, n); });
  }
  [[nodiscard]] std::int64_t examples() const noexcept override { return std::ssize(corpus_.learned.ids); }

 private:
  void add(TrainingBatch& batch, const TextSequences& from, std::int64_t n) const {
    const auto at = static_cast<std::size_t>(n);
    batch.add_source(ids_from(from.ids[at], 0, std::min(plan_.length, std::ssize(from.ids[at]))));
    const auto said = ids_from(from.targets[at], 0, std::min(plan_.length, std::ssize(from.targets[at])));
    std::vector<std::int32_t> given = {start_};
    given.insert(given.end(), said.begin(), said.end() - 1);
    batch.add(given);
    batch.labels.insert(batch.labels.end(), said.begin(), said.end());
  }

  BatchPlan plan_;
  const TrainingCorpus& corpus_;
  std::int32_t start_;
  Order order_;
};

void check_plan(const BatchPlan& plan, const TrainingCorpus& corpus) {
  const std::int64_t least = plan.task == Task::lm ? 2 : 3;
  if (plan.length < least) {
    throw std::invalid_argument("the sequence length is " + std::to_string(plan.length) + "; it must be at least " +
                                std::to_string(least));
  }
  if (plan.batch < 1) throw std::invalid_argument("the batch must have at least one sequence");
  const std::int64_t joined = corpus.tokens() + std::ssize(corpus.learned.ids);
  if (plan.task == Task::lm && joined <= plan.length) {
    throw std::invalid_argument("the texts have " + std::to_string(joined) + " tokens, too few for one sequence of " +
                                std::to_string(plan.length) +
                                " and the token after it; use more text, or a length of at most " +
                                std::to_string(joined - 1));
  }
}

}  // namespace

std::unique_ptr<BatchSource> make_batches(const BatchPlan& plan, const TrainingCorpus& corpus,
                                          const text::Tokenizer& tokenizer) {
  check_plan(plan, corpus);
  switch (plan.task) {
    case Task::lm:
      return std::make_unique<TextBatches>(plan, corpus, tokenizer);
    case Task::mlm:
      return std::make_unique<FillBatches>(plan, corpus, tokenizer);
    case Task::classify:
      return std::make_unique<ClassBatches>(plan, corpus, tokenizer);
    case Task::translate:
      return std::make_unique<PairBatches>(plan, corpus, tokenizer);
  }
  throw std::invalid_argument("no such task");
}

}  // namespace attn::train
