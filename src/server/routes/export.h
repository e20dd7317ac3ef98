// server/routes/export.h - routes that give files: pictures, tables, the page as one file, the recording itself.
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

// The part of a text that is safe in any file name: ASCII letters, digits, '.', '_' and '-'; never empty.
std::string in_file_name(std::string_view text);

// A figure in the format and dpi that the query asks for, to be saved as name.png or name.svg. Throws
// std::invalid_argument.
Response drawn(const figure::Figure& figure, const std::string& name, const RoutedRequest& request);

}  // namespace attn::server
