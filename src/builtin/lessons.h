// builtin/lessons.h - the files of lessons/ that lie in the program itself (cmake/lessons.cmake).
#pragma once

#include <span>

#include "base/folder.h"

namespace attn::builtin {

// A folder a lesson, by name: lesson.json, en.md, zh.md, and the code that they show.
std::span<const base::BuiltInFolder> lessons();

}  // namespace attn::builtin
