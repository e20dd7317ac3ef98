// cli/json.h - JSON whose numbers are written as short as a float allows, and whose keys keep their order.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nn/matrix.h"
#include "text/tokenizer.h"

namespace attn::cli {

using Json =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, float>;

// One line. Bytes that are not UTF-8 (a part of a character) become U+FFFD.
inline std::string as_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// As people read them: what `tokens` and `keys` are everywhere.
inline Json texts_of(const std::vector<text::Token>& tokens) {
  Json texts = Json::array();
  for (const text::Token& token : tokens) texts.push_back(token.text);
  return texts;
}

// [[...], ...]
inline Json rows_of(const nn::Matrix& table) {
  Json rows = Json::array();
  for (std::int64_t i = 0; i < table.rows(); ++i)
    rows.push_back(std::vector<float>(table.row(i), table.row(i) + table.columns()));
  return rows;
}

}  // namespace attn::cli
