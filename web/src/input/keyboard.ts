// Keys on a map: arrows move the current cell, + - 0 zoom.
import { revealCell } from "../draw/mapWindow";
import type { Cell, PanZoomView, Point } from "./panZoom";
import type { MapWindow } from "../state/urlState";

export const clampIndex = (index: number, count: number): number => Math.min(Math.max(index, 0), count - 1);

// Rows down and columns to the right per arrow key.
export const kArrowSteps: Record<string, [down: number, right: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

// The cell after an arrow key, ten cells on with shift; the first visible one without a cell. Undefined: another key.
export function cellAfterArrow(
  event: { key: string; shiftKey: boolean },
  { row, column }: { row: number | null; column: number | null },
  { window, shape }: Pick<PanZoomView, "window" | "shape">,
): Cell | undefined {
  if (!Object.hasOwn(kArrowSteps, event.key)) return undefined;
  if (row === null || column === null) return { row: Math.ceil(window.y), column: Math.ceil(window.x) };
  const [down, right] = kArrowSteps[event.key];
  const times = event.shiftKey ? 10 : 1;
  return { row: clampIndex(row + down * times, shape.rows), column: clampIndex(column + right * times, shape.columns) };
}

// The zoom factor of a key; 0: show the whole map; undefined: no zoom key.
export const zoomFactor = (key: string): number | undefined =>
  ({ "+": 1.5, "=": 1.5, "-": 1 / 1.5, _: 1 / 1.5, "0": 0 })[key];

// The centre of a cell in the plot: keyboard zoom keeps it in place.
export function cellCentre(cell: { row: number | null; column: number | null }, { window, plot }: PanZoomView): Point {
  if (cell.row === null || cell.column === null) return [plot.width / 2, plot.height / 2];
  return [(cell.column + 0.5 - window.x) * window.scale, (cell.row + 0.5 - window.y) * window.scale];
}

export const windowShowing = (cell: Cell, { window, plot, shape }: PanZoomView): MapWindow =>
  revealCell(window, cell.row, cell.column, plot, shape);
