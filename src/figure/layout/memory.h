// figure/layout/memory.h - what happens if the libraries that draw find no memory.
#pragma once

namespace attn::figure {

// Throws std::bad_alloc unless there is room for fonts. Fontconfig and pango do not check what they allocate: without
// room they crash, or abort because they cannot start their threads.
void require_memory_for_fonts();

// For programs: `handler` is called where GLib, under pango, would abort because it finds no memory or no threads, and
// should end the program.
void on_no_memory(void (*handler)());

}  // namespace attn::figure
