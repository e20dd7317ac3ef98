#include "course/compute/translate.h"

#include <algorithm>
#include <stdexcept>

#include "model/run/prepare.h"

namespace attn::course {

namespace {

void check_words(const model::Reader& reader, const std::string& text) {
  std::vector<std::string> unknown;
  for (const text::Token& token : reader.tokenizer.encode(text).tokens) {
    if (token.id != reader.tokenizer.special().unknown || token.special) continue;
    std::string word;
    std::int64_t place = 0;
    for (const char byte : text) {
      if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) ++place;
      if (place > token.span.from && place <= token.span.to) word += byte;
    }
    unknown.push_back("'" + word + "'");
  }
  if (!unknown.empty())
    throw std::invalid_argument(reader.name + " does not know " + joined(unknown, ", ") +
                                ": it was trained on short sentences with simple words");
}

}  // namespace

model::Recording translated(const model::Reader& reader, const std::string& text, model::Keep keep, ThreadPool& pool) {
  if (reader.model->facts().form != model::Form::encoder_decoder)
    throw std::invalid_argument(reader.name + " is not a translator: this lesson needs an encoder-decoder");
  check_words(reader, text);
  return model::read(reader, model::prepared({.text = text, .pair = {}, .target = {}}, reader, pool), keep, pool);
}

}  // namespace attn::course
