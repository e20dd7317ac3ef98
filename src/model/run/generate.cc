#include "model/run/generate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "model/run/cache.h"

namespace attn::model {
namespace {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
std::uint64_t next_random(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The largest logit. Throws if the softmax is undefined.
float largest(std::span<const float> logits) {
  constexpr std::size_t kLanes = 16;  // independent, so that the compiler vectorizes the loop
  std::array<float, kLanes> top;
  std::array<std::uint32_t, kLanes> nan{};
  top.fill(-std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      const float x = logits[i + k];
      top[k] = x > top[k] ? x : top[k];
      nan[k] |= x != x ? 1U : 0U;
    }
  }
  float most = *std::max_element(top.begin(), top.end());
  bool broken = std::accumulate(nan.begin(), nan.end(), 0U) > 0;
  for (; i < logits.size(); ++i) {
    most = std::max(most, logits[i]);
    broken = broken || std::isnan(logits[i]);
  }
  if (broken) throw std::runtime_error("the model's logits are not numbers (NaN): its weights are broken");
  if (!std::isfinite(most)) {
    throw std::runtime_error(std::string("the model's largest logit is ") + (most > 0 ? "infinite" : "-infinite") +
                             ": there is nothing to choose from");
  }
  return most;
}

std::string text_of(double x) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr};
}

void check_sampling(const Sampling& how) {
  if (!(how.temperature >= 0) || !std::isfinite(how.temperature)) {
    throw std::invalid_argument("temperature must be 0 or above, not " + text_of(how.temperature));
  }
  if (how.top_k < 0)
    throw std::invalid_argument("top_k must be 0 (no limit) or above, not " + std::to_string(how.top_k));
  if (!(how.top_p > 0 && how.top_p <= 1)) {
    throw std::invalid_argument("top_p must be above 0 and at most 1, not " + text_of(how.top_p));
  }
}

// Ids at least as likely as the k-th likeliest (with ties, more than k), sorted by id.
std::vector<Choice> top_k_of(std::span<const float> logits, std::int64_t k) {
  float least = std::numeric_limits<float>::lowest();  // -inf marks an id that is ruled out; it stays so
  if (k > 0 && k < static_cast<std::int64_t>(logits.size())) {
    std::vector<float> sorted(logits.begin(), logits.end());
    std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<>());
    least = std::max(least, sorted[static_cast<std::size_t>(k - 1)]);
  }
  std::vector<Choice> left;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] >= least) left.push_back({.id = static_cast<std::int32_t>(i), .probability = logits[i]});
  return left;
}

// Keeps the likeliest ids until they make up `share` of the total. Among ties the higher id comes first: transformers
// sorts ascending and cuts from below.
void keep_top_p(std::vector<Choice>& choices, double share) {
  const auto later = [](const Choice& a, const Choice& b) {
    return a.probability < b.probability || (a.probability == b.probability && a.id < b.id);
  };
  std::make_heap(choices.begin(), choices.end(), later);  // the share is mostly a few ids: no need to sort all
  auto rest = choices.end();
  double taken = 0;
  while (rest != choices.begin() && taken < share) {
    std::pop_heap(choices.begin(), rest, later);
    --rest;
    taken += rest->probability;
  }
  choices.erase(choices.begin(), rest);
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) { return a.id < b.id; });
}

// Scales probabilities to sum to 1.
void normalise(std::vector<Choice>& choices) {
  double sum = 0;
  for (const Choice& c : choices) sum += c.probability;
  for (Choice& c : choices) c.probability /= sum;
}

std::int32_t first_largest(std::span<const float> logits) {
  const float top = largest(logits);
  return static_cast<std::int32_t>(std::find(logits.begin(), logits.end(), top) - logits.begin());
}

void check_logits(std::span<const float> logits) {
  if (logits.empty()) throw std::invalid_argument("there are no logits to choose from");
}

void allow_only(std::int32_t id, std::span<float> logits) {
  std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
  if (id < static_cast<std::int32_t>(logits.size())) logits[static_cast<std::size_t>(id)] = 0;
}

// Rules out tokens that would repeat an n-gram already in `said`.
void forbid_repeats(std::span<const std::int32_t> said, std::int64_t n, std::span<float> logits) {
  const auto length = static_cast<std::size_t>(n);
  if (said.size() + 1 < length) return;
  const auto tail = said.last(length - 1);
  for (std::size_t i = 0; i + length <= said.size(); ++i) {
    const auto next = static_cast<std::size_t>(said[i + length - 1]);
    if (std::equal(tail.begin(), tail.end(), said.begin() + static_cast<std::ptrdiff_t>(i))) {
      logits[next] = -std::numeric_limits<float>::infinity();
    }
  }
}

// Length limits of a text, prompt included.
struct Limits {
  std::int64_t least = 0, most = 0;
};

// Applies the rules in transformers' order. `said` is the prompt (or the decoder's start token) and everything
// generated since.
void apply_rules(const Facts& facts, std::span<const std::int32_t> said, const Limits& limits,
                 std::span<float> logits) {
  const GenerationRules& rules = facts.rules;
  const auto length = static_cast<std::int64_t>(said.size());
  if (rules.no_repeat > 0) forbid_repeats(said, rules.no_repeat, logits);
  for (const std::int32_t end : facts.eos) {
    if (length < limits.least && end < facts.vocabulary)
      logits[static_cast<std::size_t>(end)] = -std::numeric_limits<float>::infinity();
  }
  if (rules.forced_bos >= 0 && length == 1) allow_only(rules.forced_bos, logits);
  if (rules.forced_eos >= 0 && length == limits.most - 1) allow_only(rules.forced_eos, logits);
}

void check_request(const Model& model, std::span<const std::int32_t> prompt, const Generation& how) {
  const Facts& facts = model.facts();
  if (facts.form == Form::encoder) {
    throw std::invalid_argument("a " + facts.type + " reads text and cannot continue it: it has no decoder");
  }
  if (!facts.has_logits) throw std::invalid_argument("this " + facts.type + " has no language-model head");
  if (facts.form == Form::encoder_decoder && facts.decoder_start < 0) {
    throw std::invalid_argument("this " + facts.type + " does not say which token its decoder starts with");
  }
  if (facts.decoder_start >= facts.vocabulary) {
    throw std::invalid_argument("decoder_start_token_id is " + std::to_string(facts.decoder_start) +
                                ", but the vocabulary has " + std::to_string(facts.vocabulary) + " tokens");
  }
  if (prompt.empty()) throw std::invalid_argument("the prompt is empty: it has no tokens");
  if (how.tokens < 0) throw std::invalid_argument("tokens must be 0 or above, not " + std::to_string(how.tokens));
}

}  // namespace

std::vector<Choice> candidates(std::span<const float> logits, const Sampling& how) {
  check_sampling(how);
  check_logits(logits);
  if (how.temperature == 0) return {{.id = first_largest(logits), .probability = 1}};
  const double top = largest(logits);
  std::vector<Choice> left = top_k_of(logits, how.top_k);
  for (Choice& c : left) c.probability = std::exp((c.probability - top) / how.temperature);
  normalise(left);
  if (how.top_p < 1) {
    keep_top_p(left, how.top_p);
    normalise(left);
  }
  return left;
}

Sampler::Sampler(const Sampling& how) : how_(how), state_(how.seed) { check_sampling(how); }

std::int32_t Sampler::operator()(std::span<const float> logits) {
  if (how_.temperature == 0) {
    check_logits(logits);
    return first_largest(logits);
  }
  const std::vector<Choice> left = candidates(logits, how_);
  const double drawn = static_cast<double>(next_random(state_) >> 11) * 0x1p-53;  // in [0, 1), all 53 bits
  double sum = 0;
  std::int32_t chosen = -1;
  for (const Choice& c : left) {
    if (c.probability == 0) continue;
    chosen = c.id;  // falls back to the last id if rounding leaves the sum below `drawn`
    sum += c.probability;
    if (sum > drawn) break;
  }
  return chosen;
}

std::vector<Choice> likeliest(std::span<const float> logits, std::int64_t count) {
  if (count < 0) throw std::invalid_argument("the number of choices must be 0 or above, not " + std::to_string(count));
  check_logits(logits);
  const double top = largest(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - top);

  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  const auto last = ids.begin() + std::min(count, static_cast<std::int64_t>(ids.size()));
  std::partial_sort(ids.begin(), last, ids.end(), [&](std::int32_t a, std::int32_t b) {
    return logit(a) > logit(b) || (logit(a) == logit(b) && a < b);
  });
  std::vector<Choice> choices;
  for (auto id = ids.begin(); id != last; ++id) {
    choices.push_back({.id = *id, .probability = std::exp(logit(*id) - top) / sum});
  }
  return choices;
}

std::vector<std::int32_t> generate(const Model& model, std::span<const std::int32_t> prompt, const Generation& how,
                                   const Pass& pass, const std::function<bool(std::int32_t)>& on_token) {
  check_request(model, prompt, how);
  Sampler sample(how.sampling);
  const Facts& facts = model.facts();
  std::vector<std::int32_t> made;
  if (how.tokens == 0) return made;

  Pass step = pass;
  const std::int64_t room = static_cast<std::int64_t>(prompt.size()) + how.tokens;
  Cache own(facts.max_tokens > 0 ? std::min(room, facts.max_tokens) : room);
  if (step.cache == nullptr) step.cache = &own;
  Batch next(std::vector<std::int32_t>(prompt.begin(), prompt.end()));
  EncoderOutput memory;
  if (facts.form == Form::encoder_decoder) {
    if (step.memory == nullptr) {
      memory = {.hidden = model.encode(next, pass), .starts = next.starts};
      step.memory = &memory;
    }
    next = Batch({facts.decoder_start});
  }

  std::vector<std::int32_t> said = next.ids;
  const auto begun = static_cast<std::int64_t>(said.size());
  const Limits limits{std::max(facts.rules.min_length, begun + facts.rules.min_new_tokens), begun + how.tokens};
  for (;;) {
    const nn::Matrix hidden = model.decode(next, step);
    nn::Matrix row = model.logits(nn::rows_of(hidden.view(), hidden.rows() - 1, 1), pass.pool);
    const std::span<float> logits(row.data(), static_cast<std::size_t>(row.columns()));
    if (how.on_logits) how.on_logits(logits);
    apply_rules(facts, said, limits, logits);
    const std::int32_t id = sample(logits);
    made.push_back(id);
    said.push_back(id);
    if (on_token && !on_token(id)) break;
    if (std::find(facts.eos.begin(), facts.eos.end(), id) != facts.eos.end()) break;
    if (static_cast<std::int64_t>(made.size()) >= how.tokens) break;
    if (facts.max_tokens > 0 && step.cache->seen() >= facts.max_tokens) break;
    next = Batch({id});
  }
  return made;
}

}  // namespace attn::model
