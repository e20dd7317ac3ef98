// Draws how much each head changed: one square per head, by layer, darker for larger changes.
import { type ThemeColours, kFont } from "./canvas";
import type { HeadChange } from "../api/comparison";
import type { Grid } from "./grid";

export interface Changes {
  grid: Grid;
  heads: (HeadChange | undefined)[]; // layer by layer
  largest: number;
  current: number; // places in heads; -1: none
  hovered: number;
}

export function drawChanges(context: CanvasRenderingContext2D, of: Changes, colours: ThemeColours): void {
  const { grid, heads, largest } = of;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.direction = "ltr";
  const frame = (place: number, colour: string) => {
    if (place < 0) return;
    const [x, y] = cornerOf(grid, place);
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(x - 1, y - 1, grid.cell + 2, grid.cell + 2);
  };
  heads.forEach((head, place) => {
    const [x, y] = cornerOf(grid, place);
    const share = head && largest > 0 ? head.change / largest : 0;
    context.fillStyle = colours.wash;
    context.fillRect(x, y, grid.cell, grid.cell);
    context.globalAlpha = 0.82 * share;
    context.fillStyle = colours.ink;
    context.fillRect(x, y, grid.cell, grid.cell);
    context.globalAlpha = 1;
    if (!head || grid.cell < 30) return;
    context.fillStyle = share > 0.5 ? colours.background : colours.ink;
    context.font = `11px ${kFont}`;
    context.fillText(head.change.toFixed(3).replace(/^0/, ""), x + grid.cell / 2, y + grid.cell / 2 + 1);
  });
  frame(of.hovered, colours.ink);
  frame(of.current, colours.accent);
  drawNumbers(context, grid, colours);
}

const cornerOf = (grid: Grid, place: number): [number, number] => [
  grid.left + (place % grid.columns) * grid.pitchX,
  grid.top + Math.floor(place / grid.columns) * grid.pitchY,
];

// Head numbers above, layer numbers at the left; every fifth where they would touch.
function drawNumbers(context: CanvasRenderingContext2D, grid: Grid, colours: ThemeColours): void {
  context.fillStyle = colours.quiet;
  context.font = `11px ${kFont}`;
  const every = grid.pitchX >= 16 ? 1 : 5;
  for (let head = 0; head < grid.columns; head += every)
    context.fillText(String(head), grid.left + head * grid.pitchX + grid.cell / 2, grid.top / 2);
  context.textAlign = "right";
  for (let layer = 0; layer < grid.rows; layer += every)
    context.fillText(String(layer), grid.left - 6, grid.top + layer * grid.pitchY + grid.cell / 2);
}
