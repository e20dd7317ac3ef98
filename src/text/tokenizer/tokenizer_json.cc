#include "text/tokenizer/tokenizer_json.h"

#include <initializer_list>

namespace attn::text {
namespace {

using nlohmann::json;

json template_token(const std::string& name, int type) { return {{"SpecialToken", {{"id", name}, {"type_id", type}}}}; }
json template_text(const char* which, int type) { return {{"Sequence", {{"id", which}, {"type_id", type}}}}; }

json template_of(const json& single, const json& pair, std::initializer_list<NamedId> tokens) {
  json known = json::object();
  for (const auto& [name, id] : tokens) {
    known[name] = {{"id", name}, {"ids", json::array({id})}, {"tokens", json::array({name})}};
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", known}};
}

}  // namespace

json tokenizer_json(json added_tokens, json model) {
  return {{"version", "1.0"},         {"truncation", nullptr},     {"padding", nullptr},
          {"normalizer", nullptr},    {"post_processor", nullptr}, {"added_tokens", std::move(added_tokens)},
          {"model", std::move(model)}};
}

json special_token(std::int64_t id, const std::string& name) {
  return {{"id", id},        {"content", name},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

json bert_normalizer(bool lower_case) {
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", true},
          {"strip_accents", nullptr},
          {"lowercase", lower_case}};
}

json word_piece_model(const std::string& unknown, json vocab) {
  return {{"type", "WordPiece"},
          {"unk_token", unknown},
          {"continuing_subword_prefix", "##"},
          {"max_input_chars_per_word", 100},
          {"vocab", std::move(vocab)}};
}

json word_piece_decoder() { return {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}; }

json byte_level(bool add_prefix_space, bool trim_offsets) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", true}};
}

json bert_template(const NamedId& cls, const NamedId& sep) {
  const json single = json::array({template_token(cls.first, 0), template_text("A", 0), template_token(sep.first, 0)});
  json pair = single;
  pair.push_back(template_text("B", 1));
  pair.push_back(template_token(sep.first, 1));
  return template_of(single, pair, {cls, sep});
}

json bart_template(const NamedId& bos, const NamedId& eos) {
  const json end = template_token(eos.first, 0);
  const json single = json::array({template_token(bos.first, 0), template_text("A", 0), end});
  json pair = single;
  pair.push_back(end);
  pair.push_back(template_text("B", 0));
  pair.push_back(end);
  return template_of(single, pair, {bos, eos});
}

}  // namespace attn::text
