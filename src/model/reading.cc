#include "model/reading.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <iterator>
#include <stdexcept>

namespace attn::model {

namespace {

Batch batch_of(const text::Encoding& encoding) { return Batch(encoding.ids(), encoding.types()); }

void check_kind_of_text(const Facts& facts, const Text& text) {
  if (text.target && facts.form != Form::encoder_decoder) {
    throw std::invalid_argument("a " + facts.type + " takes no target: only an encoder-decoder does");
  }
  if (!text.said.empty() && facts.form != Form::decoder) {
    throw std::invalid_argument("a " + facts.type + " does not go on with its text: only a decoder does");
  }
  if (text.pair && facts.form != Form::encoder) {
    throw std::invalid_argument("a " + facts.type + " takes no pair of texts: only an encoder does");
  }
}

text::Encoding encoded(const Reader& reader, const Text& text) {
  text::Encoding encoding =
      text.pair ? reader.tokenizer.encode(text.text, *text.pair) : reader.tokenizer.encode(text.text);
  const std::int64_t most = reader.model->facts().max_tokens;
  if (text.cut && most > 0 && std::ssize(encoding.tokens) > most) cut_to(encoding.tokens, most);
  std::ranges::move(reader.tokenizer.tokens(text.said), std::back_inserter(encoding.tokens));
  return encoding;
}

// What the decoder is to write: the target. Where that has no token, one row is left, and it writes the end.
std::vector<std::int32_t> ids_to_write(const Reader& reader, const Text& text) {
  std::vector<std::int32_t> ids =
      text.target_ids.empty() ? reader.tokenizer.ids(text.target.value_or("")) : text.target_ids;
  const std::vector<std::int32_t>& ends = reader.model->facts().eos;
  if (ids.empty()) ids.push_back(ends.empty() ? -1 : ends.front());
  return ids;
}

// What it is given for that: its start token, and all but the end.
std::vector<std::int32_t> shifted(const Facts& facts, const std::vector<std::int32_t>& written) {
  std::vector<std::int32_t> ids = {facts.decoder_start};
  ids.insert(ids.end(), written.begin(), written.end() - 1);
  return ids;
}

}  // namespace

Reader Reader::load(const text::Folder& folder) {
  // Side by side: either takes tens of milliseconds with a large vocabulary.
  auto tokenizer = std::async(std::launch::async, [&] { return text::Tokenizer::load(folder); });
  std::unique_ptr<Model> model = load_model(folder);
  return {folder.name(), tokenizer.get(), std::move(model)};
}

std::string Origin::short_name() const {
  const std::filesystem::path path = model;
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

const std::vector<text::Token>& Reading::queries(Kind kind) const noexcept {
  return kind == Kind::self ? tokens : kind == Kind::decoder ? target : written;
}

const std::vector<text::Token>& Reading::keys(Kind kind) const noexcept {
  return kind == Kind::decoder ? target : tokens;
}

void cut_to(std::vector<text::Token>& tokens, std::int64_t most) {
  const auto last = std::find_if(tokens.rbegin(), tokens.rend(), [](const text::Token& t) { return !t.special; });
  const std::int64_t special = last - tokens.rbegin();
  const auto from = tokens.begin() + std::max<std::int64_t>(0, most - special);
  tokens.erase(from, tokens.end() - std::min(special, most));
}

Reading read(const Reader& reader, const Text& text, Keep keep, ThreadPool& pool, const ReadOptions& options) {
  const Facts& facts = reader.model->facts();
  check_kind_of_text(facts, text);
  text::Encoding encoding = encoded(reader, text);
  Reading reading;
  reading.origin = {reader.name, facts.type, facts.form, text};
  reading.changes = options.changes;
  reading.recording = Recording(keep);
  reading.tokens = encoding.tokens;
  Pass pass{.pool = pool,
            .recording = &reading.recording,
            .off = reading.changes.off,
            .also = reading.changes.also,
            .on_layer = options.on_layer};
  reading.hidden = reader.model->read(batch_of(encoding), pass);
  if (!text.target) {
    reading.recording.finish(*reader.model);
    return reading;
  }

  const std::vector<std::int32_t> written = ids_to_write(reader, text);
  const std::vector<std::int32_t> given = shifted(facts, written);
  reading.target = reader.tokenizer.tokens(given);
  reading.written = reader.tokenizer.tokens(written);
  Memory memory{std::move(reading.hidden), {0, static_cast<std::int64_t>(reading.tokens.size())}};
  pass.memory = &memory;
  reading.target_hidden = reader.model->decode(Batch(given), pass);
  reading.hidden = std::move(memory.hidden);
  reading.recording.finish(*reader.model);
  return reading;
}

}  // namespace attn::model
