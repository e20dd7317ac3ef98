// server/http/file_names.h - files that a browser saves.
#pragma once

#include <string>
#include <string_view>

#include "figure/scene/figure.h"
#include "server/http/request.h"
#include "server/http/response.h"

namespace attn::server {

// What of a text can stand in a file's name anywhere: ASCII letters, digits, '.', '_' and '-'; never empty.
std::string in_file_name(std::string_view text);

// A picture as the query's format and dpi have it, to be saved as name.png or name.svg. Throws std::invalid_argument.
Response drawn(const figure::Figure& figure, const std::string& name, const RoutedRequest& request);

}  // namespace attn::server
