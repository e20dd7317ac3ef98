// server/routes/map_tile.h - the route of a map tile: 256 x 256 cells of a head's table, one byte each; each level is
// half as fine as the one below it.
#pragma once

#include "base/progress.h"
#include "insight/blocks/map_tile.h"
#include "server/http/response.h"
#include "server/store/viewed_head.h"

namespace attn::server {

// What byte 255 of the head's map tiles stands for: 1, or the largest number if weights are multiplied by norms.
float scale_of(RecordingStore& store, const ViewedHead& viewed);

// The bytes of a map tile: round(255 sqrt(w / scale)); for differences d, 128 + round(127 sign(d) sqrt(|d|)), or 0 if
// there is none.
//
// Map tiles of higher levels are made from the four below them, which the cache keeps, so that zooming out and panning
// rebuild every weight once. If two differences differ in sign only, either may be shown. `pulse` is called between
// map tiles; an exception from it ends the work.
Bytes tile_bytes(RecordingStore& store, const ViewedHead& viewed, const insight::MapPlace& place,
                 const base::Progress& pulse);

// The map tile at the query's level, row and column, with the header X-Shape, and X-Scale if byte 255 is not 1. tile()
// takes the head that the query names.
Response tile_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);
Response tile(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
