#include "insight/statistics/induction.h"

#include <algorithm>
#include <random>
#include <span>

namespace attn::insight {

namespace {

constexpr std::int64_t kLength = 50;  // as in the paper's own measurements
constexpr std::int64_t kLeast = 2;    // a single repeated token would follow itself
constexpr int kTries = 10'000;        // a vocabulary may have few ordinary tokens

// The special tokens that precede a text.
std::vector<std::int32_t> front_of(const text::Tokenizer& tokenizer) {
  std::vector<std::int32_t> front;
  for (const text::Token& token : tokenizer.encode("a").tokens) {
    if (!token.special) break;
    front.push_back(token.id);
  }
  return front;
}

}  // namespace

RepeatedTokens repeated_tokens(const model::Reader& reader) {
  const model::Facts& facts = reader.model->facts();
  const std::int64_t size = std::min(facts.vocabulary, reader.tokenizer.size());
  RepeatedTokens out{.ids = front_of(reader.tokenizer)};
  out.front = std::ssize(out.ids);
  const std::int64_t room = facts.max_tokens > 0 ? (facts.max_tokens - out.front) / 2 : kLength;
  const std::int64_t wanted = std::min(kLength, room);
  std::vector<std::int32_t> drawn;
  std::mt19937_64 random(1);
  for (int t = 0; t < kTries && std::ssize(drawn) < wanted; ++t) {
    const std::int32_t id = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(size));
    if (std::ranges::find(drawn, id) != drawn.end()) continue;
    const text::Token token = reader.tokenizer.tokens(std::span(&id, 1)).front();
    if (!token.special && !token.piece.empty()) drawn.push_back(id);
  }
  if (std::ssize(drawn) < kLeast) return {};
  for (int copy = 0; copy < 2; ++copy) out.ids.insert(out.ids.end(), drawn.begin(), drawn.end());
  out.length = std::ssize(drawn);
  return out;
}

nn::Matrix induction_scores(const model::Reader& reader, ThreadPool& pool, const base::Progress& progress) {
  const RepeatedTokens tokens = repeated_tokens(reader);
  if (tokens.length == 0) return {};
  const model::Facts& facts = reader.model->facts();
  model::AttentionLog log;
  const auto on_layer = [&](model::Kind, std::int64_t layer) { base::tell(progress, layer, facts.layers); };
  const model::Pass pass{.pool = pool, .log = &log, .on_layer = on_layer};
  static_cast<void>(reader.model->read(model::Batch(tokens.ids), pass));
  nn::Matrix scores(facts.layers, facts.heads.heads);
  pool.run(scores.rows() * scores.columns(), [&](std::int64_t t, int) {
    ThreadPool alone(1);
    nn::Matrix second(tokens.length,
                      tokens.length);  // queries of the second copy; keys from the second token of the first copy on
    const model::AttentionLog::Which which{model::Kind::self, t / scores.columns(), t % scores.columns(), 0};
    log.weights(which, {tokens.front + tokens.length, tokens.front + 1}, second.view(), alone);
    double sum = 0;
    for (std::int64_t i = 0; i < tokens.length; ++i) sum += second.row(i)[i];
    scores.data()[t] = static_cast<float>(sum / static_cast<double>(tokens.length));
  });
  return scores;
}

}  // namespace attn::insight
