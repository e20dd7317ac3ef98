#include "model/recording/recording.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "base/hash.h"

namespace attn::model {

namespace {

Batch batch_of(const std::vector<text::Token>& tokens) {
  std::vector<std::int32_t> ids, types;
  for (const text::Token& token : tokens) {
    ids.push_back(token.id);
    types.push_back(token.sequence);
  }
  return Batch(std::move(ids), std::move(types));
}

void check_kind_of_text(const Facts& facts, const Text& text) {
  if (text.target && facts.form != Form::encoder_decoder) {
    throw std::invalid_argument("a " + facts.type + " takes no target: only an encoder-decoder does");
  }
  if (!text.said.empty() && facts.form != Form::decoder) {
    throw std::invalid_argument("a " + facts.type + " cannot continue its text: only a decoder can");
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

// The tokens that the decoder should write: the target. An empty target leaves one row, which writes the end token.
std::vector<std::int32_t> ids_to_write(const Reader& reader, const Text& text) {
  std::vector<std::int32_t> ids =
      text.target_ids.empty() ? reader.tokenizer.ids(text.target.value_or("")) : text.target_ids;
  const std::vector<std::int32_t>& ends = reader.model->facts().eos;
  if (ids.empty()) ids.push_back(ends.empty() ? -1 : ends.front());
  return ids;
}

// The decoder's input for that: its start token, then all tokens but the last.
std::vector<std::int32_t> shifted(const Facts& facts, const std::vector<std::int32_t>& written) {
  std::vector<std::int32_t> ids = {facts.decoder_start};
  ids.insert(ids.end(), written.begin(), written.end() - 1);
  return ids;
}

bool spread(const RecordOptions& options) { return options.ranks != nullptr && options.ranks->size() > 1; }

// Everything in a recording that exists before the model runs.
Recording tokenized(const Reader& reader, const Text& text, Keep keep, const RecordOptions& options) {
  const Facts& facts = reader.model->facts();
  check_kind_of_text(facts, text);
  Recording recording;
  recording.origin = {reader.name, facts.type, facts.form, text};
  recording.changes = options.changes;
  recording.log = AttentionLog(keep);
  recording.tokens = encoded(reader, text).tokens;
  reader.model->check(batch_of(recording.tokens));
  if (!text.target) return recording;
  const std::vector<std::int32_t> written = ids_to_write(reader, text);
  recording.target = reader.tokenizer.tokens(shifted(facts, written));
  recording.written = reader.tokenizer.tokens(written);
  reader.model->check(batch_of(recording.target));
  return recording;
}

// Ranks with different models or texts would deadlock or mix them up.
void check_same(Ranks& ranks, const Facts& facts, const Recording& recording) {
  std::uint64_t ids = base::kHashOfNothing;
  for (const auto* const tokens : {&recording.tokens, &recording.target}) {
    for (const text::Token& token : *tokens) ids = base::hash_of(std::to_string(token.id) + " ", ids);
    ids = base::hash_of("; ", ids);
  }
  const Keep& keep = recording.log.keep();
  std::string model = facts.type;
  for (const std::int64_t number : {facts.layers, facts.decoder_layers, facts.width, facts.parameters, facts.bytes})
    model += " " + std::to_string(number);
  for (const bool kept : {keep.attention, keep.values, keep.inputs, keep.value_norms, keep.hidden})
    model += kept ? " 1" : " 0";
  const std::vector<std::string> all = ranks.gather(std::to_string(ids) + "\n" + model);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const std::size_t line = all[0].find('\n');
    const bool other_text = all[rank].substr(0, all[rank].find('\n')) != all[0].substr(0, line);
    throw std::invalid_argument("rank " + std::to_string(rank) + " has a different " + (other_text ? "text" : "model") +
                                " from rank 0");
  }
}

void check_shares(const Recording& recording, int ranks) {
  const auto enough = [&](const char* what, std::int64_t tokens) {
    if (tokens >= ranks) return;
    throw std::invalid_argument("the " + std::string(what) + " has " + base::counted(tokens, "token") +
                                ", too few for " + std::to_string(ranks) + " processes: each needs at least one");
  };
  enough("text", std::ssize(recording.tokens));
  if (!recording.target.empty()) enough("target", std::ssize(recording.target));
}

}  // namespace

Reader Reader::load(const base::Folder& folder) {
  // In parallel: each takes tens of milliseconds with a large vocabulary.
  const auto load = [&] { return text::Tokenizer::load(folder); };
  std::future<text::Tokenizer> tokenizer;
  try {
    tokenizer = std::async(std::launch::async, load);
  } catch (const std::system_error&) {  // no thread is left: one after the other
    tokenizer = std::async(std::launch::deferred, load);
  }
  std::unique_ptr<Model> model = load_model(folder);
  return {folder.name(), tokenizer.get(), std::move(model)};
}

std::string Origin::short_name() const {
  const std::filesystem::path path = model;
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

const std::vector<text::Token>& Recording::queries(Kind kind) const noexcept {
  return kind == Kind::self ? tokens : kind == Kind::decoder ? target : written;
}

const std::vector<text::Token>& Recording::keys(Kind kind) const noexcept {
  return kind == Kind::decoder ? target : tokens;
}

void cut_to(std::vector<text::Token>& tokens, std::int64_t most) {
  const auto last = std::find_if(tokens.rbegin(), tokens.rend(), [](const text::Token& t) { return !t.special; });
  const std::int64_t special = last - tokens.rbegin();
  const auto from = tokens.begin() + std::max<std::int64_t>(0, most - special);
  tokens.erase(from, tokens.end() - std::min(special, most));
}

Recording begin_recording(const Reader& reader, const Text& text, Keep keep, const RecordOptions& options) {
  if (!spread(options)) return tokenized(reader, text, keep, options);
  Recording recording;
  together(*options.ranks, [&] { recording = tokenized(reader, text, keep, options); });
  check_same(*options.ranks, reader.model->facts(), recording);
  check_shares(recording, options.ranks->size());
  return recording;
}

void finish_recording(const Reader& reader, Recording& recording, ThreadPool& pool, const RecordOptions& options) {
  Pass pass{.pool = pool,
            .log = &recording.log,
            .off = recording.changes.off,
            .also = recording.changes.also,
            .on_layer = options.on_layer,
            .ranks = options.ranks};
  recording.hidden = reader.model->read(batch_of(recording.tokens), pass);
  if (!recording.target.empty()) {
    EncoderOutput memory{std::move(recording.hidden), {0, std::ssize(recording.tokens)}};
    pass.memory = &memory;
    recording.target_hidden = reader.model->decode(batch_of(recording.target), pass);
    recording.hidden = std::move(memory.hidden);
  }
  recording.log.finish(*reader.model);
}

Recording read(const Reader& reader, const Text& text, Keep keep, ThreadPool& pool, const RecordOptions& options) {
  Recording recording = begin_recording(reader, text, keep, options);
  finish_recording(reader, recording, pool, options);
  return recording;
}

}  // namespace attn::model
