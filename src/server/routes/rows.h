// server/routes/rows.h - routes about a viewed head: one row, one column, the profile of all.
#pragma once

#include "server/http/response.h"
#include "server/store/viewed_head.h"

namespace attn::server {

// The query's row or column of a viewed head, as float32.
Response row_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);
Response column_of(RecordingStore& store, const RoutedRequest& request, const ViewedHead& viewed);

Response row(RecordingStore& store, const RoutedRequest& request);
Response column(RecordingStore& store, const RoutedRequest& request);
Response profile(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
