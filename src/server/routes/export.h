// server/routes/export.h - routes that return files: pictures, tables, the page as one file, the recording itself.
#pragma once

#include <string>
#include <string_view>

#include "figure/scene/figure.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

Response figure(RecordingStore& store, const RoutedRequest& request);
Response table(RecordingStore& store, const RoutedRequest& request);
Response page(RecordingStore& store, const RoutedRequest& request);
Response recording(RecordingStore& store, const RoutedRequest& request);

// `text` made safe for any file name: only ASCII letters, digits, '.', '_' and '-'; never empty.
std::string in_file_name(std::string_view text);

// Draws a figure in the query's format and dpi, as a download called name.png or name.svg. Throws
// std::invalid_argument.
Response drawn(const figure::Figure& figure, const std::string& name, const RoutedRequest& request);

}  // namespace attn::server
