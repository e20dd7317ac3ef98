#include "server/jobs/record.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "insight/experiments/ablation.h"
#include "model/run/prepare.h"
#include "server/http/request.h"

namespace attn::server {

namespace {

constexpr std::int64_t kStepChoices = 5;

std::int64_t layers_of(const model::Facts& facts) { return facts.layers + 2 * facts.decoder_layers; }

void need_length(std::int64_t tokens) {
  if (tokens > kMostTokens)
    throw HttpError(413, "the text has " + std::to_string(tokens) + " tokens; at most " + std::to_string(kMostTokens) +
                             " are allowed");
}

// Keeps only the first line of the parser's message: the others show the text and a marker below it.
Mask mask_of(const RecordRequest& record_request) {
  try {
    return record_request.mask.empty() ? Mask() : parse_mask(record_request.mask);
  } catch (const std::invalid_argument& wrong) {
    const std::string_view what = wrong.what();
    throw std::invalid_argument("mask: " + std::string(what.substr(0, what.find('\n'))));
  }
}

// Makes one recording.
class RecordWork {
 public:
  RecordWork(const RecordRequest& record_request, const RecordContext& context)
      : record_request_(record_request), maker_(context), facts_(context.reader.model->facts()) {}

  Recorded run() {
    changes_.also = mask_of(record_request_);
    for (const insight::HeadId& head : record_request_.off) {
      insight::check_head(facts_, head);
      changes_.off.push_back({head.kind, head.layer, head.head, -1});
    }
    prepare();
    Recorded recorded;
    if (record_request_.generate) recorded.generated = generate(*record_request_.generate);
    recorded.tables = read();
    return recorded;
  }

 private:
  void prepare();
  Generated generate(const RecordRequest::Generate& request);
  std::shared_ptr<const insight::AttentionTables> read();
  [[nodiscard]] std::int64_t target_tokens() const;
  void need_mask(std::int64_t tokens) const {
    if (changes_.also.everything()) return;
    try {
      model::check_besides(changes_.also, {1, facts_.heads.heads, tokens, tokens});
    } catch (const std::invalid_argument& wrong) {
      throw std::invalid_argument("mask: " + std::string(wrong.what()));
    }
  }

  const RecordRequest& record_request_;
  const RecordContext& maker_;
  const model::Facts& facts_;
  model::Text text_;
  model::Changes changes_;
  std::int64_t tokens_ = 0;  // of the text
};

void RecordWork::prepare() {
  text_ = {.text = record_request_.text, .pair = record_request_.pair, .target = record_request_.target};
  const auto pulse = [&](model::Kind, std::int64_t) { base::tell(maker_.progress, 0, layers_of(facts_)); };
  const bool says_itself = facts_.form == model::Form::encoder_decoder && !text_.pair && !text_.target;
  if (record_request_.generate && says_itself) {
    text_.text = model::with_own_mask(std::move(text_.text), maker_.reader.tokenizer);
  } else {
    text_ = model::prepared(std::move(text_), maker_.reader, maker_.pool, pulse);
  }
  const text::Tokenizer& tokenizer = maker_.reader.tokenizer;
  tokens_ =
      std::ssize(text_.pair ? tokenizer.encode(text_.text, *text_.pair).tokens : tokenizer.encode(text_.text).tokens);
  need_length(tokens_ + target_tokens());
  need_mask(tokens_);
}

std::int64_t RecordWork::target_tokens() const {
  if (!text_.target) return 0;
  return std::max<std::int64_t>(1, text_.target_ids.empty() ? std::ssize(maker_.reader.tokenizer.ids(*text_.target))
                                                            : std::ssize(text_.target_ids));
}

Generated RecordWork::generate(const RecordRequest::Generate& request) {
  if (text_.pair || text_.target) throw std::invalid_argument("a text to be continued cannot have a pair or a target");
  const std::vector<std::int32_t> prompt = model::prompt_ids(maker_.reader, text_.text);
  const bool decoder = facts_.form == model::Form::decoder;
  const auto [most, sampling] = request;
  need_length(std::ssize(prompt) + most);
  if (decoder && most > 1) need_mask(std::ssize(prompt) + most - 1);
  maker_.reserve(plan(facts_, std::ssize(prompt), decoder ? 0 : most).bytes);
  const text::Tokenizer& tokenizer = maker_.reader.tokenizer;
  Generated generated{.from = decoder ? std::ssize(prompt) : 0, .steps = {}};
  std::vector<float> logits;
  const model::Generation how{.tokens = most, .sampling = sampling, .on_logits = [&](std::span<const float> row) {
                                logits.assign(row.begin(), row.end());
                              }};
  const auto on_token = [&](std::int32_t id) {
    const double share = std::exp(logits[static_cast<std::size_t>(id)] - insight::log_total(logits));
    GeneratedStep step{.chosen = {id, word_of(tokenizer, id), share},
                       .choices = likeliest_words(tokenizer, logits, kStepChoices),
                       .entropy = entropy_of(logits)};
    if (maker_.on_step) maker_.on_step(step);
    generated.steps.push_back(std::move(step));
    base::tell(maker_.progress, std::ssize(generated.steps), most);
    return true;
  };
  const model::Pass pass{
      .pool = maker_.pool, .off = changes_.off, .also = changes_.also, .on_layer = [&](model::Kind, std::int64_t) {
        base::tell(maker_.progress, std::ssize(generated.steps), most);
      }};
  std::vector<std::int32_t> said = model::generate(*maker_.reader.model, prompt, how, pass, on_token);
  if (decoder) {
    said.pop_back();  // the model has written the last token, but not read it
    if (tokens_ == 0) said.insert(said.begin(), prompt.begin(), prompt.end());
    text_.said = std::move(said);
  } else {
    text_.target = tokenizer.decode(said);
    text_.target_ids = std::move(said);
  }
  return generated;
}

std::shared_ptr<const insight::AttentionTables> RecordWork::read() {
  const RecordPlan kept = plan(facts_, tokens_ + std::ssize(text_.said), target_tokens());
  maker_.reserve(kept.bytes);
  std::int64_t done = 0;
  const std::int64_t all = record_request_.generate ? record_request_.generate->tokens : layers_of(facts_);
  const auto on_layer = [&](model::Kind, std::int64_t) {
    base::tell(maker_.progress, record_request_.generate ? all : done, all);
    ++done;
  };
  model::Recording recording =
      model::read(maker_.reader, text_, kept.keep, maker_.pool, {.changes = changes_, .on_layer = on_layer});
  if (!record_request_.generate) model::check_not_empty(recording);
  base::tell(maker_.progress, all, all);
  return std::make_shared<insight::RecordedTables>(std::move(recording));
}

}  // namespace

RecordPlan plan(const model::Facts& facts, std::int64_t tokens, std::int64_t target) {
  const auto stack = [&](std::int64_t layers, const model::HeadShape& shape, std::int64_t n, std::int64_t m) {
    const std::int64_t least = n * shape.query_columns() + m * shape.key_columns() + shape.heads * (n + m);
    return std::pair(layers * least, layers * (m * shape.key_columns() + n * facts.width));
  };
  std::int64_t least = facts.width * (tokens + target), more = 0;
  for (const auto& [own, besides] : {stack(facts.layers, facts.heads, tokens, tokens),
                                     stack(facts.decoder_layers, facts.decoder_heads, target, target),
                                     stack(facts.decoder_layers, facts.decoder_heads, target, tokens)}) {
    least += own;
    more += besides;
  }
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(float));
  const bool all = (least + more) * kSize < kMostKept;
  return {{.values = all, .inputs = all, .value_norms = true}, (all ? least + more : least) * kSize};
}

Recorded make(const RecordRequest& record_request, const RecordContext& context) {
  return RecordWork(record_request, context).run();
}

std::string word_of(const text::Tokenizer& tokenizer, std::int32_t id) {
  return tokenizer.tokens(std::span(&id, 1)).front().text;
}

std::vector<LikelyWord> likeliest_words(const text::Tokenizer& tokenizer, std::span<const float> logits,
                                        std::int64_t top) {
  std::vector<LikelyWord> words;
  for (const model::Choice& choice : model::likeliest(logits, top))
    words.push_back({choice.id, word_of(tokenizer, choice.id), choice.probability});
  return words;
}

double entropy_of(std::span<const float> logits) {
  const double total = insight::log_total(logits);
  double sum = 0;
  for (const float x : logits) {
    const double share = std::exp(x - total);
    if (share > 0) sum -= share * (x - total);
  }
  return std::max(0.0, sum);
}

}  // namespace attn::server
