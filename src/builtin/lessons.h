// builtin/lessons.h - lessons/ as embedded in the program (cmake/lessons.cmake).
#pragma once

#include <span>

#include "base/folder.h"

namespace attn::builtin {

// One folder per lesson, by name: lesson.json, en.md, zh.md, and the code that they show.
std::span<const base::BuiltInFolder> lessons();

}  // namespace attn::builtin
