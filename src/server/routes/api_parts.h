// server/routes/api_parts.h - answers about specimens as a whole. Those about parts of them are in looking.h.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Each is a row of the table in api.cc. They throw std::invalid_argument (status 400), HttpError and Cancelled.
Response list(RecordingStore& store, const RoutedRequest& request);
Response facts_of(RecordingStore& store, const RoutedRequest& request);
Response thumbnails(RecordingStore& store, const RoutedRequest& request);

// ---- by models ----
Response models(RecordingStore& store, const RoutedRequest& request);
Response make_recording(RecordingStore& store, const RoutedRequest& request);
Response predictions(RecordingStore& store, const RoutedRequest& request);
Response effects(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
