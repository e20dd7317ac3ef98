// builtin/models.h - the models that lie in the program itself (models/, cmake/builtin.cmake).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/folder.h"

namespace attn::builtin {

// By name. A program may be built without any. Nothing of them is read until somebody asks for their bytes.
std::span<const base::BuiltInFolder> models();

// Null: there is none of this name.
const base::BuiltInFolder* find_model(std::string_view name);

// What the user called a model: one that is built in, a folder in the Hugging Face layout, or a name in the hub's
// cache, looked for in this order; ./NAME is a folder even if a model of that name is built in. Throws attn::Error
// where there is nothing of that name. What a folder lacks is said by whoever misses it.
base::Folder folder_of(const std::string& name);

}  // namespace attn::builtin
