#!/usr/bin/env python3
"""The plot of docs/scale.md: time against ranks, one panel per network.

python3 docs/scale/plot.py > docs/scale/scale.svg
"""

from __future__ import annotations

import math

from model import LAYER, LENGTHS, MACHINE, NETWORKS, RANKS, Network, in_tokens, seconds, step

PANEL, GAP, TOP, BOTTOM, LEFT, RIGHT = 260, 62, 58, 66, 76, 52
HEIGHT = 300
WIDTH = LEFT + len(NETWORKS) * PANEL + (len(NETWORKS) - 1) * GAP + RIGHT
LEAST, MOST = 0.012, 3e5  # seconds
COLOURS = ("one", "two", "three", "four")  # classes, one per length

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1d2329 }
  .paper { fill: #ffffff } .grid { stroke: #d9dee3; stroke-width: 1 } .faint { fill: #5b6670 }
  .title { font-weight: 600; font-size: 13px }
  .curve { fill: none; stroke-width: 2 } .seen { stroke-dasharray: 2 4 } .ideal { stroke-width: 1; opacity: .45 }
  .one { stroke: #0b6bcb } .two { stroke: #0f7a4d } .three { stroke: #a35200 } .four { stroke: #8a3ab9 }
  text.one, text.two, text.three, text.four { stroke: none }
  text.one { fill: #0b6bcb } text.two { fill: #0f7a4d } text.three { fill: #a35200 } text.four { fill: #8a3ab9 }
  .mark { fill: #ffffff; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #d8dee4 } .paper, .mark { fill: #101418 } .grid { stroke: #2b333b } .faint { fill: #9aa5af }
    .one { stroke: #6cb6ff } .two { stroke: #57c98f } .three { stroke: #f0a35e } .four { stroke: #c99bf0 }
    text.one { fill: #6cb6ff } text.two { fill: #57c98f } text.three { fill: #f0a35e } text.four { fill: #c99bf0 }
  }
"""


def x_of(panel: int, ranks: int) -> float:
    return LEFT + panel * (PANEL + GAP) + PANEL * (math.log2(ranks) - 1) / (math.log2(RANKS[-1]) - 1)


def y_of(time: float) -> float:
    return TOP + HEIGHT * (math.log(MOST) - math.log(time)) / (math.log(MOST) - math.log(LEAST))


def text(x: float, y: float, words: str, style: str = "", anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{style}">{words}</text>'


def line(points: list[tuple[float, float]], style: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" class="{style}"/>'


def axes(panel: int, network: Network) -> list[str]:
    left, right, bottom = x_of(panel, RANKS[0]), x_of(panel, RANKS[-1]), TOP + HEIGHT
    parts = [text((left + right) / 2, TOP - 14, network.name, "title")]
    for power in range(-1, 6):
        y = y_of(10.0**power)
        parts.append(line([(left, y), (right, y)], "grid"))
        if panel == 0:
            parts.append(text(left - 8, y + 4, f"{10.0**power:,.{max(0, -power)}f} s", "faint", "end"))
    for ranks in RANKS[::3] if RANKS[-1] in RANKS[::3] else (*RANKS[::3], RANKS[-1]):
        x = x_of(panel, ranks)
        parts += [line([(x, TOP), (x, bottom)], "grid"), text(x, bottom + 18, f"{ranks:,}", "faint")]
    return parts


def curve(panel: int, network: Network, tokens: int, colour: str) -> list[str]:
    """Solid while communication is hidden, dotted from the first R at which ranks wait for it."""
    times = {ranks: seconds(LAYER, MACHINE, network, tokens, ranks) for ranks in RANKS}
    points = {ranks: (x_of(panel, ranks), y_of(times[ranks])) for ranks in RANKS}
    seen = [ranks for ranks in RANKS if not step(LAYER, MACHINE, network, tokens, ranks).hidden]
    first = seen[0] if seen else RANKS[-1]
    ideal = [(x_of(panel, ranks), y_of(times[RANKS[0]] * RANKS[0] / ranks)) for ranks in (RANKS[0], RANKS[-1])]
    parts = [
        line(ideal, f"curve ideal {colour}"),
        line([points[ranks] for ranks in RANKS if ranks <= first], f"curve {colour}"),
        line([points[ranks] for ranks in RANKS if ranks >= first], f"curve seen {colour}"),
        text(points[RANKS[-1]][0] + 9, points[RANKS[-1]][1] + 4, in_tokens(tokens), colour, "start"),
    ]
    if seen:
        x, y = points[first]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="mark {colour}"/>')
    return parts


def draw() -> str:
    height = TOP + HEIGHT + BOTTOM
    title = "Ring attention of one layer by a model: seconds against ranks of 64 cores, for 128k to 16M tokens"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" class="paper"/>',
        text(LEFT, 22, "One causal layer (32 heads, 8 key heads, D 128), 64 cores a rank", "title", "start"),
    ]
    for panel, network in enumerate(NETWORKS):
        parts += axes(panel, network)
        for tokens, colour in zip(LENGTHS, COLOURS, strict=True):
            parts += curve(panel, network, tokens, colour)
    middle = (x_of(0, RANKS[0]) + x_of(len(NETWORKS) - 1, RANKS[-1])) / 2
    words = "ranks; a ring: from here on, dotted, keys are waited for; thin: R ranks R times as fast"
    parts += [text(middle, height - 16, words, "faint"), "</svg>"]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    print(draw(), end="")
