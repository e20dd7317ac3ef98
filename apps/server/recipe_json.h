// server/recipe_json.h - recipes and words as JSON. For .cc files only.
#pragma once

#include <string>
#include <string_view>

#include "insight/json.h"
#include "server/recipe.h"

namespace attn::server {

insight::Json to_json(const Recipe& recipe);
insight::Json to_json(const Word& word);
insight::Json to_json(const Step& step);
insight::Json to_json(const Generated& generated);

// The body of a POST: one JSON object. Throws std::invalid_argument.
insight::Json parse_object(std::string_view body);
// Throws std::invalid_argument for a member of another name; it says which there are.
void allow_members(const insight::Json& object, std::initializer_list<const char*> names, const char* where);

}  // namespace attn::server
