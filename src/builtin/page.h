// builtin/page.h - the web page as embedded in the program (web/, cmake/page.cmake).
#pragma once

#include <span>

#include "base/folder.h"

namespace attn::builtin {

// Files by URL path: "index.html", "assets/index-C0ffee.js"; and "offline.html", the page as a single file. Empty in a
// program built without the page.
std::span<const base::BuiltInFile> page();

}  // namespace attn::builtin
