// builtin/models.h - the models embedded in the program (models/, cmake/builtin.cmake).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/folder.h"

namespace attn::builtin {

// Sorted by name; empty in a program built without models. Bytes are not touched before they are used.
std::span<const base::BuiltInFolder> models();

// Null if there is no model of this name.
const base::BuiltInFolder* find_model(std::string_view name);

// Resolves the user's name for a model, in this order: a built-in model, a folder in the Hugging Face layout, a name in
// the hub's cache. ./NAME is always a folder. Throws attn::Error if none of them exists. Files missing from the folder
// are reported when they are read.
base::Folder folder_of(const std::string& name);

}  // namespace attn::builtin
