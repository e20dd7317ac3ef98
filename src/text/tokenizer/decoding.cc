#include "text/tokenizer/decoding.h"

#include <string>
#include <vector>

#include "base/json_file.h"

namespace attn::text {
namespace {

using nlohmann::json;

// Appends the steps of a Sequence, nested ones included, or the single step; nothing for null.
void flatten(const json& part, std::vector<json>& steps) {
  if (!part.is_object()) return;
  for (const char* list : {"decoders", "pretokenizers"}) {
    if (!part.contains(list)) continue;
    for (const json& step : part.at(list)) flatten(step, steps);
    return;
  }
  steps.push_back(part);
}

std::string type_of(const json& step) { return step.value("type", ""); }

bool has(const std::vector<json>& steps, const char* type) {
  for (const json& step : steps) {
    if (type_of(step) == type) return true;
  }
  return false;
}

bool replaces_space_sign(const json& step) {
  return type_of(step) == "Replace" && step.value("pattern", json::object()).value("String", "") == "\u2581";
}

PieceForm form_of(const std::vector<json>& steps) {
  if (has(steps, "ByteLevel")) return PieceForm::byte_level;
  if (has(steps, "Metaspace") || has(steps, "ByteFallback")) return PieceForm::sentence_piece;
  for (const json& step : steps) {
    if (replaces_space_sign(step)) return PieceForm::sentence_piece;
  }
  return has(steps, "WordPiece") ? PieceForm::word_piece : PieceForm::plain;
}

// Whether the step works on one token at a time, or on a run of "<0xE4>" tokens.
bool sees_tokens(const std::string& type) {
  return type == "WordPiece" || type == "Metaspace" || type == "Replace" || type == "ByteFallback";
}

// After Fuse a step sees the whole text. Stripping a single leading space leaves the rest unchanged.
bool takes_first_space(const json& step) {
  return type_of(step) == "Strip" && step.value("start", 0) <= 1 && step.value("stop", 0) == 0;
}

TextFlow flow_of(const std::vector<json>& steps) {
  if (steps.size() == 1 && type_of(steps[0]) == "ByteLevel") return TextFlow::bytes;
  bool fused = false;
  for (const json& step : steps) {
    const std::string type = type_of(step);
    const bool known = fused ? takes_first_space(step) : type == "Fuse" || sees_tokens(type);
    if (!known) return TextFlow::whole;
    fused = fused || type == "Fuse";
  }
  return TextFlow::tokens;
}

}  // namespace

Decoding decoding_of(std::string_view parts) {
  const json both = base::parse_json(parts, "the parts of the tokenizer");
  std::vector<json> decoder;
  std::vector<json> pre_tokenizer;
  flatten(both.at("decoder"), decoder);
  flatten(both.at("pre_tokenizer"), pre_tokenizer);
  return {.form = form_of(decoder.empty() ? pre_tokenizer : decoder),
          .flow = flow_of(decoder),
          .joins_bytes = has(decoder, "ByteFallback")};
}

}  // namespace attn::text
