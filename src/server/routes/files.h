// server/routes/files.h - routes for files of the user: store a piece of one, open a folder of them.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Throw as those of recordings.h do, and attn::Error.
Response store_piece(RecordingStore& store, const RoutedRequest& request);
// Opens what lies in a folder: a recording, a table, or a model.
Response open_files(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
