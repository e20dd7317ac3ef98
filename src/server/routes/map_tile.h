// server/routes/map_tile.h - a head's table as the bytes of tiles: 256 x 256 cells, each level half as fine as the one
// below it.
#pragma once

#include "base/progress.h"
#include "insight/blocks/map_tile.h"
#include "server/store/measures.h"

namespace attn::server {

// What byte 255 of the head's tiles stands for: 1; of weights times norms, the largest of them.
float scale_of(RecordingStore& store, const ViewedHead& viewed);

// round(255 sqrt(w / scale)); of differences d 128 + round(127 sign(d) sqrt(|d|)), and 0 where there is none.
//
// Tiles of higher levels are made from the four below them, which are kept: whoever zooms out or pans has every weight
// rebuilt once. Where two differences of opposite sign have the same byte but for it, either may be shown. `pulse` is
// called between tiles; what it throws ends the work.
Bytes tile_bytes(RecordingStore& store, const ViewedHead& viewed, const insight::MapPlace& place,
                 const base::Progress& pulse);

}  // namespace attn::server
