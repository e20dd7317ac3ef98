// Draws the head view: two columns of tokens and the visible lines between them.
import type { SelectedLines } from "./lineSelection";
import { type ThemeColours, kFont, drawText } from "./canvas";
import type { HeadStyle } from "./colour";
import type { Token } from "../api/facts";
import { formatCell, formatNumber } from "../i18n/format";
import { visibleText } from "./tokenLabel";
import type { Size } from "./mapWindow";

export interface TokenLayout {
  size: Size;
  pitch: number; // pixels per token
  scroll: number;
  left: number; // where lines begin and end
  right: number;
}

const kBar = 72; // pixels of a weight of 1, beside the tokens

export function layoutTokens(size: Size, scroll: number, tokens: number): TokenLayout {
  const column = Math.min(220, Math.max(84, size.width * 0.26));
  const pitch = Math.min(32, Math.max(22, Math.floor((size.height - 16) / Math.max(tokens, 1))));
  return { size, pitch, scroll, left: column, right: size.width - column - Math.min(kBar, size.width * 0.12) };
}

export const tokenY = (layout: TokenLayout, token: number): number => 8 + (token + 0.5) * layout.pitch - layout.scroll;
export const heightOf = (layout: TokenLayout, tokens: number): number => 16 + tokens * layout.pitch;

export function visibleTokens(layout: TokenLayout, count: number): [first: number, last: number] {
  const at = (y: number) => Math.floor((y + layout.scroll - 8) / layout.pitch);
  return [Math.max(0, at(0)), Math.min(count - 1, at(layout.size.height))];
}

// A token under a point, and its side; null: none.
export function tokenAt(
  layout: TokenLayout,
  x: number,
  y: number,
  queries: number,
  keys: number,
): { side: "query" | "key"; token: number } | null {
  const token = Math.floor((y + layout.scroll - 8) / layout.pitch);
  const side = x <= layout.left + 8 ? "query" : x >= layout.right - 8 ? "key" : null;
  if (!side || token < 0 || token >= (side === "query" ? queries : keys)) return null;
  return { side, token };
}

// Lines of one token: from a query to its keys, or from a key to the queries that attend to it.
export interface TokenLines {
  side: "query" | "key";
  token: number;
  head: number; // place among the heads shown
  lines: SelectedLines;
}

// A line to an invisible token ends at the edge: drawn in full it would hardly leave its column.
function edged(layout: TokenLayout, y: number): number {
  return Math.min(Math.max(y, -layout.pitch), layout.size.height + layout.pitch);
}

const kSteps = 24; // of opacity: lines of a step are one path

// A weight of 0.3 is half opaque, however many heads there are: as in the figures.
export function drawLines(
  context: CanvasRenderingContext2D,
  layout: TokenLayout,
  bundles: TokenLines[],
  styles: HeadStyle[],
): void {
  const paths = new Map<number, Path2D>();
  const between = styles.length > 1 ? Math.min((0.5 * layout.pitch) / styles.length, 3) : 0;
  for (const { side, token, head, lines } of bundles) {
    const off = (head - (styles.length - 1) / 2) * between;
    const here = tokenY(layout, token) + off;
    lines.keys.forEach((other, i) => {
      const there = edged(layout, tokenY(layout, other)) + off;
      const step = Math.max(1, Math.round(kSteps * Math.min(1, lines.weights[i]) ** 0.55));
      const key = step * styles.length + head;
      let path = paths.get(key);
      if (!path) paths.set(key, (path = new Path2D()));
      path.moveTo(layout.left, side === "query" ? here : there);
      path.lineTo(layout.right, side === "query" ? there : here);
    });
  }
  // Lightest first: what matters lies on top.
  for (const key of [...paths.keys()].sort((a, b) => a - b)) {
    const style = styles[key % styles.length];
    const opacity = Math.floor(key / styles.length) / kSteps;
    context.strokeStyle = style.hue;
    context.globalAlpha = opacity;
    context.lineWidth = 0.6 + 2 * opacity ** (1 / 0.55);
    context.setLineDash(style.dash);
    context.stroke(paths.get(key)!);
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}

export interface Column {
  side: "query" | "key";
  tokens: Token[];
  faint: (token: number) => boolean; // filtered out
  chosen: Set<number>; // under the pointer or pinned
  pinned: Set<number>;
}

export function drawTokens(
  context: CanvasRenderingContext2D,
  layout: TokenLayout,
  column: Column,
  colours: ThemeColours,
): void {
  const left = column.side === "query";
  const [first, last] = visibleTokens(layout, column.tokens.length);
  context.textBaseline = "middle";
  context.textAlign = left ? "right" : "left";
  const x = left ? layout.left - 8 : layout.right + 8;
  const room = left ? layout.left - 44 : layout.size.width - layout.right - 44;
  for (let i = first; i <= last; ++i) {
    const token = column.tokens[i];
    const y = tokenY(layout, i);
    const chosen = column.chosen.has(i);
    if (chosen || column.pinned.has(i)) {
      context.fillStyle = colours.wash;
      context.fillRect(
        left ? 0 : layout.right,
        y - layout.pitch / 2,
        left ? layout.left : layout.size.width - layout.right,
        layout.pitch,
      );
      context.fillStyle = colours.accent;
      if (column.pinned.has(i))
        context.fillRect(left ? layout.left - 3 : layout.right, y - layout.pitch / 2 + 2, 3, layout.pitch - 4);
    }
    context.globalAlpha = column.faint(i) ? 0.35 : 1;
    context.font = `${chosen ? "600 " : ""}13px ${kFont}`;
    context.fillStyle = token.special ? colours.quiet : colours.ink;
    drawText(context, visibleText(token.text), x, y, room);
    context.globalAlpha = 1;
  }
  drawPositions(context, layout, column, colours);
}

// Every fifth position, at the outer edge.
function drawPositions(
  context: CanvasRenderingContext2D,
  layout: TokenLayout,
  { side, tokens }: Column,
  colours: ThemeColours,
): void {
  const [first, last] = visibleTokens(layout, tokens.length);
  context.font = `11px ${kFont}`;
  context.fillStyle = colours.quiet;
  context.direction = "ltr";
  context.textAlign = side === "query" ? "left" : "right";
  for (let i = first; i <= last; ++i) {
    if (i % 5 === 0) context.fillText(String(i), side === "query" ? 8 : layout.size.width - 8, tokenY(layout, i));
  }
}

// Weights that the tokens of one side receive (or give), per head.
export interface Bars {
  side: "query" | "key";
  heads: { weights: ArrayLike<number>; style: HeadStyle }[];
}

// A bar per head; a number where only one head is shown.
export function drawBars(
  context: CanvasRenderingContext2D,
  layout: TokenLayout,
  { side, heads }: Bars,
  colours: ThemeColours,
): void {
  const [first, last] = visibleTokens(layout, heads[0].weights.length);
  const length = Math.min(kBar, layout.size.width * 0.12);
  const thick = Math.max(1, (layout.pitch - 4) / heads.length);
  let most = 1; // sums of pinned tokens may be more
  for (const { weights } of heads) for (let i = 0; i < weights.length; ++i) most = Math.max(most, weights[i]);
  context.font = `11px ${kFont}`;
  context.textBaseline = "middle";
  context.direction = "ltr";
  context.textAlign = side === "key" ? "right" : "left";
  for (let i = first; i <= last; ++i) {
    const top = tokenY(layout, i) - (thick * heads.length) / 2;
    context.globalAlpha = 0.3;
    heads.forEach(({ weights, style }, h) => {
      const width = (weights[i] / most) * length;
      context.fillStyle = style.hue;
      const x = side === "key" ? layout.right : layout.left - width;
      context.fillRect(x, top + h * thick, width, heads.length > 1 ? Math.max(1, thick - 1) : thick);
    });
    context.globalAlpha = 1;
    const [{ weights }] = heads;
    if (heads.length > 1 || weights[i] < 0.01) continue;
    context.fillStyle = colours.ink;
    context.fillText(formatCell(weights[i]), side === "key" ? layout.size.width - 30 : 30, tokenY(layout, i));
  }
}

// The weight of tokens above and below the visible ones, over all heads.
export function drawOffscreenWeight(
  context: CanvasRenderingContext2D,
  layout: TokenLayout,
  { side, heads }: Bars,
  colours: ThemeColours,
): void {
  const count = heads[0].weights.length;
  const [first, last] = visibleTokens(layout, count);
  context.font = `600 12px ${kFont}`;
  context.direction = "ltr";
  context.textBaseline = "middle";
  context.textAlign = side === "key" ? "right" : "left";
  const x = side === "key" ? layout.size.width - 56 : 56;
  const tell = (sign: string, from: number, to: number, y: number) => {
    let sum = 0;
    for (const { weights } of heads) for (let i = from; i < to; ++i) sum += weights[i];
    if (sum < 0.0005) return;
    const text = `${sign} ${formatNumber(sum)}`;
    const width = context.measureText(text).width + 12;
    context.fillStyle = colours.accent;
    context.fillRect(side === "key" ? x - width + 6 : x - 6, y - 10, width, 20);
    context.fillStyle = colours.background;
    context.fillText(text, x, y);
  };
  tell("↑", 0, first, 14);
  tell("↓", last + 1, count, layout.size.height - 14);
}
