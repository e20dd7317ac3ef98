// server/routes/mask.h - the route that draws a mask and counts its pairs and tiles.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

Response mask(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
