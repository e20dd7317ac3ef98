// server/routes/recordings.h - routes about whole recordings: list them, describe one, its thumbnails, list the models,
// make a recording.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Each function is a row of the table in api.cc, like those of the other files here. All throw std::invalid_argument
// (status 400), HttpError and Cancelled.
Response list(RecordingStore& store, const RoutedRequest& request);
Response facts_of(RecordingStore& store, const RoutedRequest& request);
Response thumbnails(RecordingStore& store, const RoutedRequest& request);
Response models(RecordingStore& store, const RoutedRequest& request);
Response make_recording(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
