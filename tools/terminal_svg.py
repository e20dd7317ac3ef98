#!/usr/bin/env python3
"""Converts a program's colour terminal output into an SVG picture with real text.

    script -qc "build/attnscope tour" /dev/null | tools/terminal_svg.py > docs/tour.svg

Supports the escape sequences that attnscope uses: 24-bit and 256 colours, bold, dim, reset.
"""

import html
import re
import sys
import unicodedata

CELL_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 18, 18
INK, PAPER, FAINT = "#d8dee4", "#101418", "#7d8790"


def colour_of_256(n: int) -> str:
    """The xterm palette beyond the first 16: a 6 x 6 x 6 cube, then 24 greys."""
    if n >= 232:
        return "#" + f"{8 + 10 * (n - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    n -= 16
    return "#" + "".join(f"{levels[i]:02x}" for i in (n // 36, n // 6 % 6, n % 6))


def restyle(style: dict, codes: list[int]) -> dict:
    style = dict(style)
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in (1, 2):
            style["weight"] = "bold" if code == 1 else "dim"
        elif code == 22:
            style.pop("weight", None)
        elif code in (38, 48):
            which = "ink" if code == 38 else "paper"
            if codes.pop(0) == 2:
                style[which] = "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
            else:
                style[which] = colour_of_256(codes.pop(0))
        elif code in (39, 49):
            style.pop("ink" if code == 39 else "paper", None)
    return style


def cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def draw(lines: list[str]) -> str:
    shapes, texts, style, widest = [], [], {}, 0
    for row, line in enumerate(lines):
        column = 0
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b"):
                style = restyle(style, [int(n or 0) for n in part[2:-1].split(";")])
                continue
            x, y = MARGIN + column * CELL_WIDTH, MARGIN + row * LINE_HEIGHT
            if "paper" in style and part:
                width = cells(part) * CELL_WIDTH
                shapes.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE_HEIGHT}" fill="{style["paper"]}"/>'
                )
            if part.strip():
                ink = style.get("ink", FAINT if style.get("weight") == "dim" else INK)
                bold = ' font-weight="bold"' if style.get("weight") == "bold" else ""
                length = f' textLength="{cells(part) * CELL_WIDTH:.1f}"'
                texts.append(f'<text x="{x:.1f}" y="{y + 13}" fill="{ink}"{bold}{length}>{html.escape(part)}</text>')
            column += cells(part)
        widest = max(widest, column)
    width, height = 2 * MARGIN + widest * CELL_WIDTH, 2 * MARGIN + len(lines) * LINE_HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">',
            f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
            *shapes,
            '<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
            *texts,
            "</g>",
            "</svg>",
        ]
    )


def main() -> None:
    text = sys.stdin.buffer.read().decode().replace("\r", "")
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    print(draw(lines))


if __name__ == "__main__":
    main()
