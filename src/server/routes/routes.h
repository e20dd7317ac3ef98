// server/routes/routes.h - answers about parts of specimens, files of them, and what two of them have different.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Each is a row of the table in api.cc. They throw std::invalid_argument (status 400), HttpError and Cancelled.

// ---- parts ----
Response tile(RecordingStore& store, const RoutedRequest& request);
Response row(RecordingStore& store, const RoutedRequest& request);
Response column(RecordingStore& store, const RoutedRequest& request);
Response profile(RecordingStore& store, const RoutedRequest& request);
Response trace(RecordingStore& store, const RoutedRequest& request);
Response find(RecordingStore& store, const RoutedRequest& request);
Response patterns(RecordingStore& store, const RoutedRequest& request);

// ---- files ----
Response figure(RecordingStore& store, const RoutedRequest& request);
Response table(RecordingStore& store, const RoutedRequest& request);
Response page(RecordingStore& store, const RoutedRequest& request);
Response recording(RecordingStore& store, const RoutedRequest& request);

// ---- two specimens ----
Response compare(RecordingStore& store, const RoutedRequest& request);
Response compare_tile(RecordingStore& store, const RoutedRequest& request);
Response compare_row(RecordingStore& store, const RoutedRequest& request);
Response compare_column(RecordingStore& store, const RoutedRequest& request);
Response compare_thumbnails(RecordingStore& store, const RoutedRequest& request);
Response compare_figure(RecordingStore& store, const RoutedRequest& request);

// ---- none ----
Response mask(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
