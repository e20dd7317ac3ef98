"""A page that is one file, taken apart again."""

import base64
import html
import json
import re
import struct
import zlib

import numpy as np


def unpacked(page):
    """Its facts, the weights that each block holds, and the state in which it begins."""
    found = re.search(
        r'<script id="attnscope-data" type="text/plain" data-state="([^"]*)">([A-Za-z0-9+/=]+)</script>', page
    )
    data = zlib.decompress(base64.b64decode(found.group(2)))
    (length,) = struct.unpack("<I", data[:4])
    header, rest = json.loads(data[4 : 4 + length]), data[4 + length :]
    tables = {}
    for block in header["blocks"]:
        kind, most = (np.dtype("<u2"), 65535) if block["bits"] == 16 else (np.dtype(np.uint8), 255)
        codes = np.frombuffer(rest, kind, int(np.prod(block["shape"])), block["offset"]).reshape(block["shape"])
        tables[block["name"]] = (codes / most) ** 2
    return header["facts"], tables, dict(part.split("=") for part in html.unescape(found.group(1)).split("&") if part)
