// cli/json.h - JSON whose numbers are written as short as a float allows, and whose keys keep their order.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attn::cli {

using Json =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, float>;

// One line. Bytes that are not UTF-8 (a part of a character) become U+FFFD.
inline std::string as_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attn::cli
