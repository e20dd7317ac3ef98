// Draws a head as a map: tiles, tokens along its edges, profiles beside it, numbers where cells are large enough.
import { maximum } from "./maximum";
import { type ThemeColours, kFont, drawText } from "./canvas";
import { textColourOn } from "./colour";
import type { Token } from "../api/facts";
import { formatNumber } from "../i18n/format";
import { visibleText } from "./tokenLabel";
import type { MapWindow } from "../state/urlState";
import type { Shade } from "./shade";
import { kMapTileSize, type Profile, type MapTile, type MapTileName } from "../api/sources/source";
import { highestLevel, type Shape, type Size } from "./mapWindow";
import { paint } from "./thumbnails";

export interface Frame {
  left: number; // query tokens
  top: number; // key tokens
  right: number; // entropy of rows
  bottom: number; // what columns receive
}

// `profiles`: leaves room for them beside the map.
export const frameFor = (width: number, profiles = true): Frame =>
  profiles ? frameWithProfiles(width) : { ...frameWithProfiles(width), right: 12, bottom: 8 };

const frameWithProfiles = (width: number): Frame =>
  width < 560 ? { left: 64, top: 60, right: 28, bottom: 36 } : { left: 104, top: 84, right: 56, bottom: 56 };

export const plotOf = (size: Size, frame: Frame): Size => ({
  width: Math.max(1, size.width - frame.left - frame.right),
  height: Math.max(1, size.height - frame.top - frame.bottom),
});

// Caches a tile's picture as long as the tile lives; repaints it when the colours change.
const pictures = new WeakMap<MapTile, { look: string; canvas: HTMLCanvasElement }>();

function parsePicture(tile: MapTile, shade: Shade): HTMLCanvasElement {
  let found = pictures.get(tile);
  if (found?.look !== shade.key) {
    found = { look: shade.key, canvas: paint(tile.bytes, tile.rows, tile.columns, shade.pixels) };
    pictures.set(tile, found);
  }
  return found.canvas;
}

export interface MapPicture {
  window: MapWindow;
  plot: Size;
  shape: Shape;
  level: number;
  names: MapTileName[];
  tile: (name: MapTileName) => MapTile | undefined; // only loaded tiles
  shade: Shade;
}

// Draws loaded tiles; where one is missing, a coarser tile that covers it.
export function drawMap(context: CanvasRenderingContext2D, of: MapPicture): void {
  context.imageSmoothingEnabled = false;
  for (const name of of.names) {
    let [found, at] = [of.tile(name), name];
    while (!found && at.level < highestLevel(of.shape)) {
      at = { level: at.level + 1, row: at.row >> 1, column: at.column >> 1 };
      found = of.tile(at);
    }
    if (found) drawTile(context, of, name, at, found);
  }
}

// The part of tile `at` that lies under tile `name`. Edges are whole pixels of the screen: no seams.
function drawTile(
  context: CanvasRenderingContext2D,
  of: MapPicture,
  name: MapTileName,
  at: MapTileName,
  tile: MapTile,
): void {
  const { window, shape } = of;
  const cells = kMapTileSize * 2 ** name.level;
  const coarse = 2 ** at.level;
  const [y0, x0] = [name.row * cells, name.column * cells];
  const [y1, x1] = [Math.min(y0 + cells, shape.rows), Math.min(x0 + cells, shape.columns)];
  const ratio = devicePixelRatio;
  const pixel = (cell: number, from: number) => Math.round((cell - from) * window.scale * ratio) / ratio;
  const from = (cell: number, tileAt: number) => cell / coarse - tileAt * kMapTileSize;
  // A last cell may stand for fewer than 2^level: its picture ends where the table does.
  const sx = from(x0, at.column);
  const sy = from(y0, at.row);
  const [dx, dy] = [pixel(x0, window.x), pixel(y0, window.y)];
  context.drawImage(
    parsePicture(tile, of.shade),
    sx,
    sy,
    from(x1, at.column) - sx,
    from(y1, at.row) - sy,
    dx,
    dy,
    pixel(x1, window.x) - dx,
    pixel(y1, window.y) - dy,
  );
}

const kGridFrom = 14; // pixels per cell from which grid lines help
const kNumbersFrom = 40;

function range(from: number, pixels: number, scale: number, count: number): [first: number, last: number] {
  return [Math.max(0, Math.floor(from)), Math.min(count - 1, Math.ceil(from + pixels / scale) - 1)];
}

const rowsIn = (window: MapWindow, plot: Size, shape: Shape): [number, number] =>
  range(window.y, plot.height, window.scale, shape.rows);
const columnsIn = (window: MapWindow, plot: Size, shape: Shape): [number, number] =>
  range(window.x, plot.width, window.scale, shape.columns);

export function drawCells(
  context: CanvasRenderingContext2D,
  of: MapPicture,
  row: (i: number) => Float32Array | undefined,
): void {
  const { window, plot, shape } = of;
  if (window.scale < kGridFrom) return;
  const [top, bottom] = rowsIn(window, plot, shape);
  const [left, right] = columnsIn(window, plot, shape);
  context.fillStyle = "rgb(128 128 128 / 28%)";
  const width = (right + 1 - window.x) * window.scale;
  const height = (bottom + 1 - window.y) * window.scale;
  for (let i = top; i <= bottom; ++i) context.fillRect(0, (i - window.y) * window.scale - 0.5, width, 1);
  for (let j = left; j <= right; ++j) context.fillRect((j - window.x) * window.scale - 0.5, 0, 1, height);
  if (window.scale < kNumbersFrom) return;
  context.font = `${window.scale < 52 ? 11 : 13}px ${kFont}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.direction = "ltr";
  for (let i = top; i <= bottom; ++i) {
    const weights = row(i);
    if (!weights) continue;
    for (let j = left; j <= right; ++j) {
      context.fillStyle = textColourOn(of.shade.colour(weights[j]));
      const [x, y] = [(j + 0.5 - window.x) * window.scale, (i + 0.5 - window.y) * window.scale];
      context.fillText(of.shade.text(weights[j]), x, y);
    }
  }
}

const kLabelFrom = 10; // pixels per token

// The interval between labelled tokens at which labels do not touch.
export function labelInterval(scale: number, room: number): number {
  for (let ten = 1; ; ten *= 10) {
    const every = [1, 2, 5].map((n) => n * ten).find((n) => n * scale >= room);
    if (every) return every;
  }
}

export interface Edges {
  window: MapWindow;
  size: Size;
  frame: Frame;
  shape: Shape;
  queries: Token[];
  keys: Token[];
  row: number | null;
  column: number | null;
  sinks: Set<number>; // columns left out of the weights
  lone?: { rows: Set<number>; columns: Set<number> }; // tokens that the other text lacks: written as "−cat"
}

export function drawEdges(context: CanvasRenderingContext2D, of: Edges, colours: ThemeColours): void {
  const plot = plotOf(of.size, of.frame);
  context.textBaseline = "middle";
  context.textAlign = "right";
  const [top, bottom] = rowsIn(of.window, plot, of.shape);
  label(context, of, colours, { first: top, last: bottom, current: of.row, tokens: of.queries, across: false });
  const [left, right] = columnsIn(of.window, plot, of.shape);
  label(context, of, colours, { first: left, last: right, current: of.column, tokens: of.keys, across: true });
}

interface Edge {
  first: number;
  last: number;
  current: number | null;
  tokens: Token[];
  across: boolean;
}

function label(context: CanvasRenderingContext2D, of: Edges, colours: ThemeColours, edge: Edge): void {
  const { window, frame } = of;
  const { tokens, across } = edge;
  const named = window.scale >= kLabelFrom;
  const every = named ? 1 : labelInterval(window.scale, across ? 40 : 24);
  const at = (i: number) => (i + 0.5 - (across ? window.x : window.y)) * window.scale;
  const end = across ? of.size.width - frame.left - frame.right : of.size.height - frame.top - frame.bottom;
  const room = (across ? frame.top : frame.left) - 18;
  const size = Math.max(10, Math.min(13, window.scale - 1));
  for (let i = edge.first; i <= edge.last; ++i) {
    const current = i === edge.current;
    const near = !named && edge.current !== null && Math.abs(i - edge.current) * window.scale < 22 && !current;
    if ((i % every !== 0 && !current) || near || at(i) < 0 || at(i) > end) continue;
    const words = named || current;
    context.font = `${current ? "600 " : ""}${words ? size : 11}px ${kFont}`;
    context.fillStyle = current ? colours.accent : words && !tokens[i].special ? colours.ink : colours.quiet;
    context.globalAlpha = across && of.sinks.has(i) ? 0.4 : 1;
    const lone = (across ? of.lone?.columns : of.lone?.rows)?.has(i) ? "−" : "";
    const text = lone + (words ? visibleText(tokens[i].text) : String(i));
    context.save();
    if (across) {
      context.translate(frame.left + at(i), frame.top - 8);
      context.rotate(words ? -Math.PI / 2 : 0);
      context.textAlign = words ? "left" : "center";
    } else {
      context.translate(frame.left - 8, frame.top + at(i));
    }
    drawText(context, text, 0, 0, room);
    context.restore();
  }
  context.globalAlpha = 1;
}

export interface Profiles {
  window: MapWindow;
  size: Size;
  frame: Frame;
  shape: Shape;
  profile: Profile;
  names: { received: string; entropy: string };
}

// Bars are at least one device pixel wide: tokens that share one show their maximum.
export function drawProfiles(context: CanvasRenderingContext2D, of: Profiles, colours: ThemeColours): void {
  const { window, size, frame, shape, profile } = of;
  const plot = plotOf(size, frame);
  const bottom = Math.min(frame.top + plot.height, frame.top + (shape.rows - window.y) * window.scale) + 8;
  const right = Math.min(frame.left + plot.width, frame.left + (shape.columns - window.x) * window.scale) + 8;
  context.fillStyle = colours.quiet;
  context.font = `11px ${kFont}`;
  context.direction = "ltr";
  context.textBaseline = "alphabetic";
  const deep = (edge: number) => edge - 22;
  const rows = strip(profile.entropy, window.y, plot.height, window.scale);
  const length = deep(frame.right);
  for (const { at, thick, share } of rows.bars)
    context.fillRect(right, frame.top + at, Math.max(0.5, share * length), thick);
  const name = `${of.names.entropy} ≤ ${formatNumber(rows.most)}`;
  const fits = right + context.measureText(name).width <= size.width;
  context.textAlign = fits ? "left" : "right";
  if (frame.right > 40) context.fillText(name, fits ? right : size.width, frame.top - (fits ? 8 : 72));
  if (!profile.received) return;
  const columns = strip(profile.received, window.x, plot.width, window.scale);
  for (const { at, thick, share } of columns.bars) {
    context.fillRect(frame.left + at, bottom, thick, Math.max(0.5, share * deep(frame.bottom)));
  }
  context.textAlign = "right";
  context.fillText(of.names.received, frame.left - 8, bottom + 8);
  context.fillText(`≤ ${formatNumber(columns.most)}`, frame.left - 8, bottom + 21);
}

interface Strip {
  bars: { at: number; thick: number; share: number }[];
  most: number; // of all values, visible or not
}

function strip(values: ArrayLike<number>, from: number, length: number, scale: number): Strip {
  const most = maximum(values);
  const bars: Strip["bars"] = [];
  const [first, last] = range(from, length, scale, values.length);
  const step = Math.max(1, Math.ceil(1 / scale));
  const whole = (pixels: number) => Math.round(pixels * devicePixelRatio) / devicePixelRatio; // avoids visible seams
  for (let i = first - (first % step); i <= last; i += step) {
    let value = 0;
    for (let k = i; k < Math.min(i + step, values.length); ++k) value = Math.max(value, values[k]);
    const at = whole(Math.max(0, (i - from) * scale));
    const end = whole(Math.min(length, (i + step - from) * scale));
    const gap = scale > 6 ? 1 : 0;
    if (end > at) bars.push({ at, thick: Math.max(0.5, end - at - gap), share: most > 0 ? value / most : 0 });
  }
  return { bars, most };
}

export interface Cross {
  window: MapWindow;
  plot: Size;
  shape: Shape;
  row: number | null;
  column: number | null;
  pinned: boolean;
}

// Outlines the current row, column and cell, light on dark and dark on light.
export function drawCross(context: CanvasRenderingContext2D, of: Cross, colours: ThemeColours): void {
  const { window, row, column, shape } = of;
  const x = column === null ? 0 : (column - window.x) * window.scale;
  const y = row === null ? 0 : (row - window.y) * window.scale;
  const cell = Math.max(window.scale, 3);
  const width = Math.min(of.plot.width, (shape.columns - window.x) * window.scale);
  const height = Math.min(of.plot.height, (shape.rows - window.y) * window.scale);
  const framed = (left: number, top: number, w: number, h: number, colour: string) => {
    context.lineWidth = 3;
    context.strokeStyle = "rgb(0 0 0 / 55%)";
    context.strokeRect(left, top, w, h);
    context.lineWidth = 1.5;
    context.strokeStyle = colour;
    context.strokeRect(left, top, w, h);
  };
  context.globalAlpha = 0.55;
  if (row !== null) framed(0, y, width, cell, "#fff");
  if (column !== null) framed(x, 0, cell, height, "#fff");
  context.globalAlpha = 1;
  if (row !== null && column !== null) framed(x, y, cell, cell, of.pinned ? colours.accent : "#fff");
}
