// builtin/page.h - the files of the page that lie in the program itself (web/, cmake/page.cmake).
#pragma once

#include <span>

#include "base/folder.h"

namespace attn::builtin {

// By name, as they are asked for: "index.html", "assets/index-C0ffee.js"; and "offline.html", the page as one file.
// Empty in a program that was built without the page.
std::span<const base::BuiltInFile> page();

}  // namespace attn::builtin
