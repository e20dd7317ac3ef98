// text/tokenizer/tokenizer_json.h - builds the parts of a tokenizer.json. For .cc files only.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace attn::text {

using NamedId = std::pair<std::string, std::int64_t>;

// A complete file with no processing around its model yet.
nlohmann::json tokenizer_json(nlohmann::json added_tokens, nlohmann::json model);

// The crate ignores the id and looks it up in the vocabulary.
nlohmann::json special_token(std::int64_t id, const std::string& name);

// Removes control characters and separates Chinese characters; lower-casing also strips accents.
nlohmann::json bert_normalizer(bool lower_case);
nlohmann::json word_piece_model(const std::string& unknown, nlohmann::json vocab);
nlohmann::json word_piece_decoder();

// For use as pre-tokenizer, post-processor and decoder.
nlohmann::json byte_level(bool add_prefix_space, bool trim_offsets);

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP]; the second part has token type 1.
nlohmann::json bert_template(const NamedId& cls, const NamedId& sep);
// <s> A </s> and <s> A </s> </s> B </s>; token type 0 throughout.
nlohmann::json bart_template(const NamedId& bos, const NamedId& eos);

}  // namespace attn::text
