#!/usr/bin/env python3
"""Writes colour_maps.json: what matplotlib's colour maps say at 65 places from 0 to 1, as red, green and blue of 0 to 1.

    python tests/golden/make_colour_maps.py      (needs matplotlib)
"""

import json
import pathlib

import matplotlib

NAMES = {"viridis": "viridis", "magma": "magma", "cividis": "cividis", "YlOrRd": "YlOrRd", "Blues": "Blues", "RdBu": "RdBu_r"}
PLACES = [i / 64 for i in range(65)]

samples = {ours: [[round(part, 6) for part in matplotlib.colormaps[theirs](place)[:3]] for place in PLACES]
           for ours, theirs in NAMES.items()}
rows = ",\n".join(f'  "{name}": {json.dumps(colours, separators=(",", ":"))}' for name, colours in samples.items())
pathlib.Path(__file__).with_name("colour_maps.json").write_text(
    '{\n  "matplotlib": "%s",\n  "places": 65,\n%s\n}\n' % (matplotlib.__version__, rows))
