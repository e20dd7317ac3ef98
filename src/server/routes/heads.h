// server/routes/heads.h - routes about single heads: trace a weight, find heads by their pattern.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

Response trace(RecordingStore& store, const RoutedRequest& request);
Response find(RecordingStore& store, const RoutedRequest& request);
Response patterns(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
