// text/tokenizer/tokenizer_json.h - the parts that a tokenizer.json is put together from. For .cc files only.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace attn::text {

using NamedId = std::pair<std::string, std::int64_t>;

// A whole file that does nothing around its model yet.
nlohmann::json tokenizer_json(nlohmann::json added_tokens, nlohmann::json model);

// The id is of no meaning to the crate, which asks the vocabulary.
nlohmann::json special_token(std::int64_t id, const std::string& name);

// Control characters out, Chinese characters apart. Accents are stripped where letters are made small.
nlohmann::json bert_normalizer(bool lower_case);
nlohmann::json word_piece_model(const std::string& unknown, nlohmann::json vocab);
nlohmann::json word_piece_decoder();

// As pre-tokenizer, post-processor and decoder.
nlohmann::json byte_level(bool add_prefix_space, bool trim_offsets);

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], the second part of token type 1.
nlohmann::json bert_template(const NamedId& cls, const NamedId& sep);
// <s> A </s> and <s> A </s> </s> B </s>, all of token type 0.
nlohmann::json bart_template(const NamedId& bos, const NamedId& eos);

}  // namespace attn::text
