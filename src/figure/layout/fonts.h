// figure/layout/fonts.h - fonts that come with the program, for machines that have none.
#pragma once

namespace attn::figure {

// Fonts in ../share/attnscope/fonts beside the program, or in fonts/ beside the Python module, can be used from now on,
// together with those of the system. Nothing changes where there are no such folders. Call it before pango is used;
// only the first call has an effect.
void use_shipped_fonts();

}  // namespace attn::figure
