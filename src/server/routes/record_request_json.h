// server/routes/record_request_json.h - record requests and predicted words as JSON. Include it from .cc files only.
#pragma once

#include <string>
#include <string_view>

#include "insight/io/json.h"
#include "server/jobs/record_request.h"

namespace attn::server {

using insight::Json;  // lessons have their own, of double precision: course::Json

Json to_json(const RecordRequest& record_request);
Json to_json(const LikelyWord& word);
Json to_json(const GeneratedStep& step);
Json to_json(const Generated& generated);

// What a client sends, in double precision; see base::parse_json().
using BodyJson = nlohmann::json;

// Parses the body of a POST, one JSON object. Throws std::invalid_argument.
BodyJson parse_object(std::string_view body);
// Throws std::invalid_argument, listing `names`, if the object has another member.
void allow_members(const BodyJson& object, std::initializer_list<const char*> names, const char* where);

}  // namespace attn::server
