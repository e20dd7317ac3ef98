// server/routes/recordings.h - routes about whole recordings: the list, the facts of one, thumbnails, models, and
// making one.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Each is a row of the table in api.cc, as are those of the other files here. All throw std::invalid_argument (status
// 400), HttpError and Cancelled.
Response list(RecordingStore& store, const RoutedRequest& request);
Response facts_of(RecordingStore& store, const RoutedRequest& request);
Response thumbnails(RecordingStore& store, const RoutedRequest& request);
Response models(RecordingStore& store, const RoutedRequest& request);
Response make_recording(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
