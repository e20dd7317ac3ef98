// figure/layout/fonts.h - registers the fonts that ship with the program, for machines that have none.
#pragma once

namespace attn::figure {

// Adds the fonts in ../share/attnscope/fonts relative to the program, or in fonts/ beside the Python module, to those
// of the system. Does nothing if there are no such folders. Call it before pango is used; only the first call has an
// effect.
void use_shipped_fonts();

}  // namespace attn::figure
