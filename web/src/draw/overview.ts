// Draws the visible heads of the overview.
import { type ThemeColours, kFont, drawText } from "./canvas";
import type { MapName } from "./colour";
import { type HeadFacts, type HeadName, sameHead, type Stack } from "../api/facts";
import type { Grid } from "./grid";
import type { Size } from "./mapWindow";
import type { Thumbnails } from "./thumbnails";

export interface OverviewPicture {
  grid: Grid;
  stack: Stack;
  heads: HeadFacts[];
  thumbnails: Thumbnails;
  placed: boolean; // by layer and head
  map: MapName;
  fit: boolean;
  matches: (head: HeadFacts) => boolean;
  holds: (head: HeadName) => boolean;
  caption: (head: HeadFacts) => [string, string];
  colours: ThemeColours;
}

// Frames around heads, on a canvas of their own: the pictures need no redraw while the pointer moves.
export function drawMarks(
  context: CanvasRenderingContext2D,
  [sx, sy]: [number, number],
  size: Size,
  { grid, heads, placed }: Pick<OverviewPicture, "grid" | "heads" | "placed">,
  marks: { head: HeadName; colour: string }[],
): void {
  context.beginPath();
  if (placed) context.rect(grid.left - 3, grid.top - 3, size.width, size.height);
  else context.rect(0, 0, size.width, size.height);
  context.clip();
  context.lineWidth = 2;
  for (const { head, colour } of marks) {
    const place = heads.findIndex((other) => sameHead(head, other));
    if (place < 0) continue;
    const x = grid.left + (place % grid.columns) * grid.pitchX - sx;
    const y = grid.top + Math.floor(place / grid.columns) * grid.pitchY - sy;
    context.strokeStyle = colour;
    context.strokeRect(x - 1, y - 1, grid.cell + 2, grid.cell + 2);
  }
}

export function drawOverview(
  context: CanvasRenderingContext2D,
  scroll: [number, number],
  size: Size,
  of: OverviewPicture,
): void {
  const { grid, heads } = of;
  const [sx, sy] = scroll;
  const first = Math.max(0, Math.floor((sy - grid.top) / grid.pitchY));
  const last = Math.min(grid.rows - 1, Math.floor((sy + size.height - grid.top) / grid.pitchY));
  const small = of.thumbnails.columns > grid.cell * devicePixelRatio;
  context.imageSmoothingEnabled = small;
  context.textBaseline = "middle";
  for (let row = first; row <= last; ++row) {
    const y = grid.top + row * grid.pitchY - sy;
    for (let column = 0; column < grid.columns; ++column) {
      const head = heads[row * grid.columns + column];
      const x = grid.left + column * grid.pitchX - sx;
      if (!head || x > size.width || x + grid.cell < 0) continue;
      drawHead(context, head, x, y, of);
    }
  }
  if (of.placed) drawNames(context, scroll, size, of);
}

function drawHead(context: CanvasRenderingContext2D, head: HeadFacts, x: number, y: number, of: OverviewPicture): void {
  const { cell } = of.grid;
  const picture = of.thumbnails.picture(head.layer * of.stack.heads + head.head, of.map, of.fit);
  context.globalAlpha = of.matches(head) ? 1 : 0.16;
  context.drawImage(picture, x, y, cell, cell);
  context.globalAlpha = 1;
  if (!of.holds(head)) mark(context, x + cell - 6, y + 6);
  if (of.placed) return;
  const [name, value] = of.caption(head);
  context.textAlign = "left";
  context.font = `12px ${kFont}`;
  context.fillStyle = of.colours.ink;
  drawText(context, name, x, y + cell + 11, cell + 8);
  context.fillStyle = of.colours.quiet;
  drawText(context, value, x, y + cell + 26, cell + 8);
}

// An open circle: the file has only a thumbnail of this head.
function mark(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath();
  context.arc(x, y, 3, 0, 2 * Math.PI);
  context.lineWidth = 1.5;
  context.strokeStyle = "#fff";
  context.stroke();
}

// Numbers of layers and heads stay visible while the rest scrolls.
function drawNames(
  context: CanvasRenderingContext2D,
  [sx, sy]: [number, number],
  size: Size,
  of: OverviewPicture,
): void {
  const { grid, colours } = of;
  context.fillStyle = colours.background;
  context.fillRect(0, 0, grid.left - 2, size.height);
  context.fillRect(0, 0, size.width, grid.top - 2);
  context.fillStyle = colours.quiet;
  context.font = `12px ${kFont}`;
  context.textAlign = "center";
  for (let column = 0; column < grid.columns; ++column) {
    const x = grid.left + (column + 0.5) * grid.pitchX - 2 - sx;
    if (x > grid.left) context.fillText(String(column), x, grid.top / 2);
  }
  context.textAlign = "right";
  for (let row = 0; row < grid.rows; ++row) {
    const y = grid.top + row * grid.pitchY + grid.cell / 2 - sy;
    if (y > grid.top) context.fillText(String(row), grid.left - 8, y);
  }
}
