// Draws the visible part of a mask, and the engine's tiles over it.
import { type ThemeColours, kFont } from "./canvas";
import { hatchPattern } from "./hatch";
import type { EngineTiles, Shares } from "../api/mask";
import type { MapWindow } from "../state/urlState";
import { paint } from "./thumbnails";
import type { Shape, Size } from "./mapWindow";

export interface MaskPicture {
  window: MapWindow;
  plot: Size;
  shape: Shape;
  shares: Shares; // the effective mask
  own: Shares | null; // the written mask, where the model forbids part of it
}

const kSeen = "47, 109, 168"; // as the figures have it
const kSeenInTheDark = "110, 168, 222";

const pictures = new WeakMap<Uint8Array, { key: string; canvas: HTMLCanvasElement }>();

function parsePicture({ bytes, rows, columns }: Shares, rgb: string): HTMLCanvasElement {
  let found = pictures.get(bytes);
  if (found?.key !== rgb) {
    const [r, g, b] = rgb.split(",").map(Number);
    const colours = Uint32Array.from({ length: 256 }, (_, share) => ((share << 24) | (b << 16) | (g << 8) | r) >>> 0);
    found = { key: rgb, canvas: paint(bytes, rows, columns, colours) };
    pictures.set(bytes, found);
  }
  return found.canvas;
}

export function seenColour(dark: boolean): string {
  return dark ? kSeenInTheDark : kSeen;
}

export function drawMask(
  context: CanvasRenderingContext2D,
  of: MaskPicture,
  colours: ThemeColours,
  dark: boolean,
): void {
  const { window, shape } = of;
  const [x, y] = [-window.x * window.scale, -window.y * window.scale];
  const [width, height] = [shape.columns * window.scale, shape.rows * window.scale];
  context.imageSmoothingEnabled = false;
  context.fillStyle = colours.wash;
  context.fillRect(x, y, width, height);
  if (of.own) drawForbidden(context, of, of.own, colours);
  context.drawImage(parsePicture(of.shares, seenColour(dark)), x, y, width, height);
  if (window.scale >= 8) drawLines(context, of, colours);
}

// Pairs that the text allows and the model forbids: hatched, where pairs are known one by one.
function drawForbidden(
  context: CanvasRenderingContext2D,
  { window, plot, shape, shares }: MaskPicture,
  own: Shares,
  colours: ThemeColours,
): void {
  if (own.rows !== shape.rows || shares.rows !== shape.rows) return;
  context.fillStyle = hatchPattern(context, "rising", colours.quiet);
  const bottom = Math.min(own.rows, Math.ceil(window.y + plot.height / window.scale));
  for (let i = Math.max(0, Math.floor(window.y)); i < bottom; ++i) {
    const forbidden = (j: number) => own.bytes[i * own.columns + j] > 0 && !shares.bytes[i * own.columns + j];
    for (let j = 0; j < own.columns; ++j) {
      const first = j;
      while (j < own.columns && forbidden(j)) ++j;
      if (j === first) continue;
      const [x, y] = [(first - window.x) * window.scale, (i - window.y) * window.scale];
      context.fillRect(x, y, (j - first) * window.scale, window.scale);
    }
  }
}

function drawLines(context: CanvasRenderingContext2D, { window, shape }: MaskPicture, colours: ThemeColours): void {
  context.fillStyle = colours.background;
  const [width, height] = [shape.columns * window.scale, shape.rows * window.scale];
  const [x, y] = [-window.x * window.scale, -window.y * window.scale];
  for (let i = 1; i < shape.rows; ++i) context.fillRect(x, y + i * window.scale - 0.5, width, 1);
  for (let j = 1; j < shape.columns; ++j) context.fillRect(x + j * window.scale - 0.5, y, 1, height);
}

const kOutlinesFrom = 5; // pixels per side of a tile
const kNamesFrom = { width: 60, height: 40 };

// Skipped tiles are hatched, partial ones dotted, full ones plain; labelled where there is room.
export function drawTiles(
  context: CanvasRenderingContext2D,
  { window, plot, shape }: Pick<MaskPicture, "window" | "plot" | "shape">,
  tiles: EngineTiles,
  names: [skipped: string, partial: string, full: string],
  colours: ThemeColours,
): void {
  if (!tiles.covers) return;
  const [high, wide] = [tiles.rows * window.scale, tiles.keys * window.scale];
  const [top, left] = [Math.max(0, Math.floor(window.y / tiles.rows)), Math.max(0, Math.floor(window.x / tiles.keys))];
  const bottom = Math.min(tiles.down, Math.ceil((window.y + plot.height / window.scale) / tiles.rows));
  const right = Math.min(tiles.across, Math.ceil((window.x + plot.width / window.scale) / tiles.keys));
  const fills = [hatchPattern(context, "falling", colours.quiet), hatchPattern(context, "dots", colours.accent), null];
  const outlined = Math.min(high, wide) >= kOutlinesFrom;
  const named = high >= kNamesFrom.height && wide >= kNamesFrom.width;
  context.lineWidth = 1;
  context.strokeStyle = colours.accent;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.font = `11px ${kFont}`;
  for (let r = top; r < bottom; ++r) {
    const y = (r * tiles.rows - window.y) * window.scale;
    const h = Math.min(high, (shape.rows - r * tiles.rows) * window.scale);
    for (let c = left; c < right; ++c) {
      const x = (c * tiles.keys - window.x) * window.scale;
      const w = Math.min(wide, (shape.columns - c * tiles.keys) * window.scale);
      const cover = Number(tiles.covers[r * tiles.across + c]);
      const fill = fills[cover];
      if (fill) {
        context.fillStyle = fill;
        context.fillRect(x, y, w, h);
      }
      if (outlined) context.strokeRect(Math.round(x) + 0.5, Math.round(y) + 0.5, w, h);
      if (named) drawName(context, names[cover], x + w / 2, y + h / 2, colours);
    }
  }
}

function drawName(context: CanvasRenderingContext2D, name: string, x: number, y: number, colours: ThemeColours): void {
  const width = context.measureText(name).width + 8;
  context.fillStyle = colours.background;
  context.fillRect(x - width / 2, y - 8, width, 16);
  context.fillStyle = colours.ink;
  context.fillText(name, x, y + 0.5);
}
