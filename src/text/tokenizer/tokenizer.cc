#include "text/tokenizer/tokenizer.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "attn/error.h"
#include "base/utf8.h"
#include "text/tokenizer/no_memory.h"
#include "text/tokenizer/pieces.h"
#include "text/tokenizer/tokenizer_files.h"
#include "text/tokenizer/tokenizer_state.h"

namespace attn::text {
namespace {

struct FreeTokens {
  void operator()(AttnTokens* tokens) const { attn_tokens_free(tokens); }
};
using CrateTokens = std::unique_ptr<AttnTokens, FreeTokens>;

std::vector<std::string_view> pieces_of(const AttnTokensView& view) {
  std::vector<std::string_view> pieces(view.size);
  std::size_t from = 0;
  for (std::size_t i = 0; i < view.size; ++i) {
    const auto end = static_cast<std::size_t>(view.piece_ends[i]);
    pieces[i] = std::string_view(view.pieces + from, end - from);
    from = end;
  }
  return pieces;
}

std::vector<Token> tokens_of(const AttnTokens& tokens, PieceForm form) {
  AttnTokensView view{};
  attn_tokens_view(&tokens, &view);
  const std::vector<std::string_view> pieces = pieces_of(view);
  std::vector<std::string> texts = readable(pieces, form);
  std::vector<Token> out(view.size);
  for (std::size_t i = 0; i < view.size; ++i) {
    Token& token = out[i];
    token.id = static_cast<std::int32_t>(view.ids[i]);
    token.piece = pieces[i];
    token.text = std::move(texts[i]);
    token.span = {static_cast<std::int64_t>(view.spans[2 * i]), static_cast<std::int64_t>(view.spans[2 * i + 1])};
    token.sequence = static_cast<std::int32_t>(view.types[i]);
    if (view.words[i] >= 0) token.word = view.words[i];
    token.special = view.special[i] != 0;
  }
  return out;
}

// The crate's ids are unsigned; a negative id maps to one that no vocabulary has.
const std::uint32_t* as_unsigned(std::span<const std::int32_t> ids) {
  return reinterpret_cast<const std::uint32_t*>(ids.data());
}

}  // namespace

void on_no_memory(void (*handler)()) { attn_on_no_memory(handler); }

std::vector<std::int32_t> Encoding::ids() const {
  std::vector<std::int32_t> out;
  out.reserve(tokens.size());
  for (const Token& token : tokens) out.push_back(token.id);
  return out;
}

std::vector<std::int32_t> Encoding::types() const {
  std::vector<std::int32_t> out;
  out.reserve(tokens.size());
  for (const Token& token : tokens) out.push_back(token.sequence);
  return out;
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const base::Folder& folder) {
  const TokenizerSource source = tokenizer_source(folder);
  auto state = std::make_unique<State>();
  state->path = source.file;
  CrateText error;
  state->crate.reset(attn_tokenizer_new(slice(source.json), error.receive()));
  if (!state->crate) explain_failure(source, error.str());
  state->decoding = decoding_of(CrateText(attn_tokenizer_parts(state->crate.get())).str());
  Tokenizer tokenizer(std::move(state));
  tokenizer.state_->special = special_ids(folder, [&](std::string_view piece) { return tokenizer.id(piece); });
  return tokenizer;
}

Encoding Tokenizer::encode(std::string_view text, bool bare) const {
  base::require_utf8(text, "the text");
  CrateText error;
  const CrateTokens tokens(
      attn_tokenizer_encode(state_->crate.get(), slice(text), {nullptr, 0}, !bare, error.receive()));
  if (!tokens) throw Error(state_->path, "cannot encode the text: " + error.str());
  return {tokens_of(*tokens, state_->decoding.form)};
}

Encoding Tokenizer::encode(std::string_view text, std::string_view pair, bool bare) const {
  base::require_utf8(text, "the first text");
  base::require_utf8(pair, "the second text");
  CrateText error;
  const CrateTokens tokens(
      attn_tokenizer_encode(state_->crate.get(), slice(text), slice(pair), !bare, error.receive()));
  if (!tokens) throw Error(state_->path, "cannot encode the texts: " + error.str());
  return {tokens_of(*tokens, state_->decoding.form)};
}

std::vector<std::int32_t> Tokenizer::ids(std::string_view text, bool bare) const {
  base::require_utf8(text, "the text");
  CrateText error;
  const CrateTokens tokens(
      attn_tokenizer_encode(state_->crate.get(), slice(text), {nullptr, 0}, !bare, error.receive()));
  if (!tokens) throw Error(state_->path, "cannot encode the text: " + error.str());
  AttnTokensView view;
  attn_tokens_view(tokens.get(), &view);
  return {view.ids, view.ids + view.size};
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  CrateText text;
  if (!attn_tokenizer_decode(state_->crate.get(), as_unsigned(ids), ids.size(), skip_special, text.receive())) {
    throw Error(state_->path, "cannot decode the ids: " + text.str());
  }
  return text.str();
}

std::vector<Token> Tokenizer::tokens(std::span<const std::int32_t> ids) const {
  CrateText error;
  const CrateTokens tokens(attn_tokenizer_tokens(state_->crate.get(), as_unsigned(ids), ids.size(), error.receive()));
  if (!tokens) throw Error(state_->path, "cannot name the ids: " + error.str());
  return tokens_of(*tokens, state_->decoding.form);
}

std::int64_t Tokenizer::size() const { return static_cast<std::int64_t>(attn_tokenizer_size(state_->crate.get())); }

std::optional<std::int32_t> Tokenizer::id(std::string_view piece) const {
  const std::int64_t id = attn_tokenizer_id(state_->crate.get(), slice(piece));
  if (id < 0) return std::nullopt;
  return static_cast<std::int32_t>(id);
}

const SpecialIds& Tokenizer::special() const { return state_->special; }

}  // namespace attn::text
