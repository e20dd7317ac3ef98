#include "model/run/prepare.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace attn::model {

std::string with_own_mask(std::string text, const text::Tokenizer& tokenizer) {
  constexpr std::string_view kGap = "[MASK]";
  const std::int32_t id = tokenizer.special().mask;
  if (id < 0) return text;
  const std::string mask = tokenizer.tokens(std::vector{id})[0].piece;
  for (std::size_t at = text.find(kGap); mask != kGap && at != std::string::npos;
       at = text.find(kGap, at + mask.size())) {
    text.replace(at, kGap.size(), mask);
  }
  return text;
}

Text prepared(Text text, const Reader& reader, ThreadPool& pool, const LayerHook& on_layer) {
  text.text = with_own_mask(std::move(text.text), reader.tokenizer);
  if (reader.model->facts().form != Form::encoder_decoder) return text;
  if (!text.target) std::swap(text.pair, text.target);
  if (!text.target) {
    const std::vector<std::int32_t> ids = reader.tokenizer.encode(text.text).ids();
    const Pass pass{.pool = pool, .on_layer = on_layer};
    text.target_ids = generate(*reader.model, ids, {.tokens = kMostSaid, .sampling = {}}, pass);
    text.target = reader.tokenizer.decode(text.target_ids);
  }
  return text;
}

void check_not_empty(const Recording& recording) {
  if (std::ranges::all_of(recording.tokens, &text::Token::special))
    throw std::invalid_argument("the text is empty: it has no tokens besides the special ones that the model adds");
}

std::vector<std::int32_t> prompt_ids(const Reader& reader, const std::string& prompt) {
  const Facts& facts = reader.model->facts();
  if (facts.form == Form::encoder)
    throw std::invalid_argument("a " + facts.type + " is an encoder: it cannot continue a text, but it can fill gaps");
  std::vector<std::int32_t> ids = reader.tokenizer.encode(prompt).ids();
  if (ids.empty() && facts.bos >= 0) ids.push_back(facts.bos);
  if (ids.empty()) throw std::invalid_argument("the prompt is empty, and this " + facts.type + " has no start token");
  return ids;
}

Filled fill(const Reader& reader, const std::string& text, std::int64_t top, ThreadPool& pool) {
  const Facts& facts = reader.model->facts();
  const std::int32_t mask = reader.tokenizer.special().mask;
  if (facts.form != Form::encoder || !facts.has_logits) {
    throw std::invalid_argument(
        "this " + facts.type +
        " cannot fill gaps: that takes an encoder with a masked-word head, such as bert-base-uncased");
  }
  if (mask < 0)
    throw std::invalid_argument("this model's tokenizer has no mask token: it was not trained to fill gaps");
  const Text whole{.text = with_own_mask(text, reader.tokenizer), .pair = {}, .target = {}};
  Recording recording = read(reader, whole, {.attention = false}, pool);
  Filled filled{std::move(recording.tokens), {}};
  for (std::size_t i = 0; i < filled.tokens.size(); ++i) {
    if (filled.tokens[i].id != mask) continue;
    const auto token = static_cast<std::int64_t>(i);
    const nn::Matrix logits = reader.model->logits(nn::rows_of(std::as_const(recording.hidden).view(), token, 1), pool);
    filled.gaps.push_back({token, likeliest({logits.data(), static_cast<std::size_t>(logits.columns())}, top)});
  }
  return filled;
}

void check_labels(const Facts& facts) {
  if (facts.labels.empty())
    throw std::invalid_argument("this " + facts.type +
                                " gives no labels: classifying takes an encoder with a classification head, such as a "
                                "BertForSequenceClassification");
  if (facts.labels.size() == 1 && !facts.several_labels)
    throw std::invalid_argument("this " + facts.type + " outputs a single number, not one of several labels");
}

}  // namespace attn::model
