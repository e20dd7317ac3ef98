#include "server/routes/routes.h"

#include <array>
#include <charconv>
#include <vector>

#include "insight/blocks/profile.h"
#include "insight/io/json.h"
#include "server/http/encode.h"
#include "server/routes/map_tile.h"
#include "server/routes/tables.h"

namespace attn::server {

namespace {

std::string in_digits(float number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

}  // namespace

Answer tile_of(Desk& desk, const Question& asked, const Sight& sight) {
  const insight::MapPlace place{asked.number("level"), asked.number("row"), asked.number("column")};
  const auto [rows, columns] = map_tile_shape(sight.stack(), place);
  Answer answer = octets(tile_bytes(desk, sight, place, asked.progress("tile")));
  answer.headers = {{"X-Shape", std::to_string(rows) + "," + std::to_string(columns)}};
  if (const float scale = scale_of(desk, sight); scale != 1) answer.headers.emplace_back("X-Scale", in_digits(scale));
  return answer;
}

Answer row_of(Desk& desk, const Question& asked, const Sight& sight) {
  const std::int64_t row = asked.number("row"), keys = sight.stack().keys;
  insight::need_index("row", row, sight.stack().queries);
  return octets(desk.cache().get(sight.key + "/row/" + std::to_string(row), [&] {
    std::vector<float> weights(static_cast<std::size_t>(keys));
    sight.specimen->weights(sight.head, {row, 0}, View<float, 2>{weights.data(), {1, keys}}, *desk.pool());
    return float_bytes(weights);
  }));
}

Answer column_of(Desk& desk, const Question& asked, const Sight& sight) {
  const std::int64_t column = asked.number("column"), queries = sight.stack().queries;
  insight::need_index("column", column, sight.stack().keys);
  return octets(desk.cache().get(sight.key + "/column/" + std::to_string(column), [&] {
    std::vector<float> weights(static_cast<std::size_t>(queries));
    sight.specimen->weights(sight.head, {0, column}, View<float, 2>{weights.data(), {queries, 1}}, *desk.pool());
    return float_bytes(weights);
  }));
}

Answer tile(Desk& desk, const Question& asked) {
  asked.allow({"words", "kind", "layer", "head", "level", "row", "column", "measure", "aside"});
  return tile_of(desk, asked, sight_of(desk, asked));
}

Answer row(Desk& desk, const Question& asked) {
  asked.allow({"words", "kind", "layer", "head", "row", "measure", "aside"});
  return row_of(desk, asked, sight_of(desk, asked));
}

Answer column(Desk& desk, const Question& asked) {
  asked.allow({"words", "kind", "layer", "head", "column", "measure", "aside"});
  return column_of(desk, asked, sight_of(desk, asked));
}

Answer profile(Desk& desk, const Question& asked) {
  asked.allow({"words", "kind", "layer", "head", "measure", "aside"});
  const Sight sight = sight_of(desk, asked);
  return {200, kJson, desk.cache().get(sight.key + "/profile", [&] {
            const insight::Profile found = insight::profile(*sight.specimen, sight.head, *desk.pool());
            return insight::as_line(insight::Json{{"received", found.received}, {"entropy", found.entropy}});
          })};
}

}  // namespace attn::server
