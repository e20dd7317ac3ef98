// tests/server/test_page.h - a page of three small files in place of the real one.
#pragma once

#include <array>

#include "server/http/page_files.h"

namespace attn::test {

inline constexpr std::array kPageFiles = {
    base::BuiltInFile{"index.html", "<!doctype html><html><head></head><body>page</body></html>"},
    base::BuiltInFile{"assets/main-abc.js", "console.log(1)"},
    base::BuiltInFile{"offline.html",
                      "<!doctype html><html><head><title>p</title></head><body><!--attnscope-data-->"
                      "<script type=\"module\">alert(1)</script></body></html>"}};

inline server::PageFiles test_page() { return server::PageFiles(kPageFiles); }

}  // namespace attn::test
