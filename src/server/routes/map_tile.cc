#include "server/routes/map_tile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "server/http/encode.h"

namespace attn::server {

namespace {

using insight::kMapTile;
using insight::MapPlace;

// Map tiles up to this level are computed from the weights. One of this level covers 1,024 x 1,024 weights: some 10 ms.
// All map tiles from here on of 16,384 tokens take 22 MB.
constexpr std::int64_t kDirectLevel = 2;

bool signed_of(const ViewedHead& viewed) { return viewed.tables->numbers() == insight::Numbers::differences; }

struct LargerByte {
  unsigned char operator()(unsigned char a, unsigned char b) const { return std::max(a, b); }
};
// The byte farther from 128, which stands for 0. Byte 0 means no number.
struct FartherByte {
  static int distance(unsigned char byte) { return byte == 0 ? -1 : std::abs(byte - 128); }
  unsigned char operator()(unsigned char a, unsigned char b) const { return distance(b) > distance(a) ? b : a; }
};

// Reduces a map tile of the level below into its quarter of `bytes`.
struct Quarter {
  Shape<2> shape;  // of the whole map tile
  std::int64_t down = 0, across = 0;
  Shape<2> below;  // shape of the map tile below

  template <typename Show>
  void put(const std::string& tile, std::string& bytes, Show show) const {
    for (std::int64_t r = 0; r < below[0]; ++r) {
      char* const to = bytes.data() + (down * kMapTile / 2 + r / 2) * shape[1] + across * kMapTile / 2;
      const char* const from = tile.data() + r * below[1];
      for (std::int64_t c = 0; c < below[1]; ++c)
        to[c / 2] = static_cast<char>(show(static_cast<unsigned char>(to[c / 2]), static_cast<unsigned char>(from[c])));
    }
  }
};

std::string joined(RecordingStore& store, const ViewedHead& viewed, const MapPlace& place,
                   const base::Progress& pulse) {
  const insight::AttentionStack& all = viewed.stack();
  const Shape<2> shape = map_tile_shape(all, place);
  std::string bytes(static_cast<std::size_t>(shape[0] * shape[1]), '\0');
  for (std::int64_t down = 0; down < 2; ++down) {
    for (std::int64_t across = 0; across < 2; ++across) {
      const MapPlace below{place.level - 1, 2 * place.row + down, 2 * place.column + across};
      if ((below.row * kMapTile << below.level) >= all.queries) continue;
      if ((below.column * kMapTile << below.level) >= all.keys) continue;
      const Bytes tile = tile_bytes(store, viewed, below, pulse);
      const Quarter quarter{shape, down, across, map_tile_shape(all, below)};
      signed_of(viewed) ? quarter.put(*tile, bytes, FartherByte()) : quarter.put(*tile, bytes, LargerByte());
    }
  }
  return bytes;
}

std::string direct(RecordingStore& store, const ViewedHead& viewed, const MapPlace& place) {
  nn::Matrix cells = map_tile(*viewed.tables, viewed.head, place, *store.pool());
  if (signed_of(viewed)) return coded_differences(cells);
  const float scale = scale_of(store, viewed);
  if (scale != 1) std::for_each_n(cells.data(), cells.rows() * cells.columns(), [&](float& x) { x /= scale; });
  return coded(cells);
}

std::string in_digits(float number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

}  // namespace

float scale_of(RecordingStore& store, const ViewedHead& viewed) {
  if (viewed.tables->numbers() != insight::Numbers::norms) return 1;
  const Bytes bytes = store.cache().get(viewed.key + "/scale", [&] {
    const float most = largest_number(*viewed.tables, viewed.head, *store.pool());
    return float_bytes({&most, 1});
  });
  float scale = 0;
  std::memcpy(&scale, bytes->data(), sizeof(scale));
  return scale > 0 ? scale : 1;
}

Bytes tile_bytes(RecordingStore& store, const ViewedHead& viewed, const MapPlace& place, const base::Progress& pulse) {
  const std::string key = viewed.key + "/tile/" + std::to_string(place.level) + "/" + std::to_string(place.row) + "/" +
                          std::to_string(place.column);
  return store.cache().get(key, pulse, [&](const base::Progress& progress) {
    base::tell(progress, 0, 1);
    return place.level <= kDirectLevel ? direct(store, viewed, place) : joined(store, viewed, place, progress);
  });
}

Response tile_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed) {
  const insight::MapPlace place{request.number("level"), request.number("row"), request.number("column")};
  const auto [rows, columns] = map_tile_shape(viewed.stack(), place);
  Response response = octets(tile_bytes(store, viewed, place, request.progress("tile")));
  response.headers = {{"X-Shape", std::to_string(rows) + "," + std::to_string(columns)}};
  if (const float scale = scale_of(store, viewed); scale != 1)
    response.headers.emplace_back("X-Scale", in_digits(scale));
  return response;
}

Response tile(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"words", "kind", "layer", "head", "level", "row", "column", "measure", "without_sinks"});
  return tile_of(store, request, viewed_head(store, request));
}

}  // namespace attn::server
