// server/routes/map_tile.h - the route of a map tile: 256 x 256 cells of a head's table, one byte each; each level is
// half as fine as the one below it.
#pragma once

#include "base/progress.h"
#include "insight/blocks/map_tile.h"
#include "server/store/viewed_head.h"

namespace attn::server {

// What byte 255 of the head's tiles stands for: 1, or the largest number where weights are multiplied by norms.
float scale_of(RecordingStore& store, const ViewedHead& viewed);

// round(255 sqrt(w / scale)); of differences d 128 + round(127 sign(d) sqrt(|d|)), and 0 where there is none.
//
// Tiles of higher levels are made from the four below them, which the cache keeps, so zooming out and panning rebuild
// every weight once. Where two differences differ in sign alone, either may be shown. `pulse` is called between tiles;
// what it throws ends the work.
Bytes tile_bytes(RecordingStore& store, const ViewedHead& viewed, const insight::MapPlace& place,
                 const base::Progress& pulse);

// The tile at the query's level, row and column, with X-Shape, and X-Scale where byte 255 is not 1: of any viewed head,
// and of the one that the query names.
Response tile_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);
Response tile(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
