// server/routes/rows.h - routes about a head as it is viewed: a row, a column, the sums of all of them.
#pragma once

#include "server/store/viewed_head.h"

namespace attn::server {

// float32: the query's row or column of any viewed head.
Response row_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);
Response column_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);

Response row(RecordingStore& store, const RoutedRequest& request);
Response column(RecordingStore& store, const RoutedRequest& request);
Response profile(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
