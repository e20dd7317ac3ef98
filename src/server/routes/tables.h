// server/routes/tables.h - parts of a head as it is looked at.
#pragma once

#include "server/store/measures.h"

namespace attn::server {

// level, row and column; X-Shape, and X-Scale where byte 255 is not 1.
Response tile_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);
// float32: row or column of the query.
Response row_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);
Response column_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);

}  // namespace attn::server
