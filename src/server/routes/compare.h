// server/routes/compare.h - routes about two recordings side by side, and A - B.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

Response compare(RecordingStore& store, const RoutedRequest& request);
Response compare_tile(RecordingStore& store, const RoutedRequest& request);
Response compare_row(RecordingStore& store, const RoutedRequest& request);
Response compare_column(RecordingStore& store, const RoutedRequest& request);
Response compare_thumbnails(RecordingStore& store, const RoutedRequest& request);
Response compare_figure(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
