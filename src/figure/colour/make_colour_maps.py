#!/usr/bin/env python3
"""Writes colour_tables.cc: the published colour maps as matplotlib has them, 256 steps of 8 bits.

    python src/figure/colour/make_colour_maps.py >src/figure/colour/colour_tables.cc      (needs matplotlib)
"""

import matplotlib

MAPS = {"viridis": "viridis", "magma": "magma", "cividis": "cividis", "YlOrRd": "YlOrRd", "Blues": "Blues", "RdBu": "RdBu_r"}
STEPS_A_LINE = 18

print("""// Made by make_colour_maps.py from matplotlib's tables: viridis, magma (Smith & van der Walt, 2015) and cividis (Nunez,
// Anderton & Renslow, 2018), public domain; YlOrRd, Blues and RdBu by Cynthia Brewer (ColorBrewer, Apache License 2.0).
#include "figure/colour_tables.h"

namespace attn::figure {

const std::array<ColourTable, 6> kColourTables = {{""")
for name, source in MAPS.items():
    steps = ["%02x%02x%02x" % tuple(matplotlib.colormaps[source](i, bytes=True)[:3]) for i in range(256)]
    lines = ["".join(steps[at:at + STEPS_A_LINE]) for at in range(0, 256, STEPS_A_LINE)]
    print(f'    {{"{name}",')
    print("\n".join(f'     "{line}"' for line in lines) + "},")
print("""}};

}  // namespace attn::figure""")
