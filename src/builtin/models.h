// builtin/models.h - the models that lie in the program itself (models/, cmake/builtin.cmake).
#pragma once

#include <span>
#include <string_view>

#include "text/folder.h"

namespace attn::builtin {

// By name. A program may be built without any. Nothing of them is read until somebody asks for their bytes.
std::span<const text::BuiltInFolder> models();

// Null: there is none of this name.
const text::BuiltInFolder* find_model(std::string_view name);

}  // namespace attn::builtin
