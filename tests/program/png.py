"""Pictures as numbers."""

import struct
import zlib

import numpy as np


def decoded(png):
    """[height, width, channels] of a PNG with 8 bits a channel, by the standard's own words."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, palette, header = 8, b"", None, None
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            data += body
        at += 12 + size
    width, height, depth, colour, _, _, interlace = header
    assert depth == 8 and interlace == 0
    channels = {0: 1, 2: 3, 3: 1, 6: 4}[colour]
    raw = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    rows = np.zeros((height, width * channels), np.int64)
    for y in range(height):
        rows[y] = unfiltered(raw[y, 0], raw[y, 1:].astype(np.int64), rows[y - 1] if y else 0 * rows[0], channels)
    picture = rows.astype(np.uint8).reshape(height, width, channels)
    return palette[picture[:, :, 0]] if colour == 3 else picture


def unfiltered(kind, line, above, step):
    if kind == 0:
        return line
    if kind == 2:
        return (line + above) & 255
    out = line.copy()
    for x in range(len(line)):
        left = out[x - step] if x >= step else 0
        corner = above[x - step] if x >= step else 0
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + above[x]) // 2
        else:
            distances = [abs(above[x] - corner), abs(left - corner), abs(left + above[x] - 2 * corner)]
            guess = (left, above[x], corner)[int(np.argmin(distances))]
        out[x] = (line[x] + guess) & 255
    return out
