// server/routes/predictions.h - routes that run the model: its predictions, and the effect of switching heads off.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

Response predictions(RecordingStore& store, const RoutedRequest& request);
Response effects(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
