// A head as a map: which tiles a window needs and where they are in it.
import type { MapWindow } from "../state/urlState";
import { kMapTileSize, type MapTileName } from "../api/sources/source";

export interface Shape {
  rows: number;
  columns: number;
}

export interface Size {
  width: number;
  height: number;
}

export const kLargestCell = 96; // pixels: numbers with room around them

// The smallest level whose cells are at least one pixel of the screen, so that no maximum is lost between pixels.
export function levelFor(scale: number, ratio: number, shape: Shape): number {
  const needed = Math.ceil(-Math.log2(scale * ratio) - 1e-9);
  return Math.min(Math.max(needed, 0), highestLevel(shape));
}

// The level at which the whole head is one tile.
export function highestLevel({ rows, columns }: Shape): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(rows, columns, 1) / kMapTileSize)));
}

export function mapTilesIn(window: MapWindow, size: Size, level: number, shape: Shape): MapTileName[] {
  const cells = kMapTileSize * 2 ** level;
  const range = (from: number, pixels: number, all: number): [number, number] => [
    Math.max(0, Math.floor(from / cells)),
    Math.min(Math.ceil(all / cells), Math.ceil((from + pixels / window.scale) / cells)) - 1,
  ];
  const [top, bottom] = range(window.y, size.height, shape.rows);
  const [left, right] = range(window.x, size.width, shape.columns);
  const names: MapTileName[] = [];
  for (let row = top; row <= bottom; ++row) {
    for (let column = left; column <= right; ++column) names.push({ level, row, column });
  }
  return names;
}

export function fitScale(size: Size, shape: Shape): number {
  return Math.min(kLargestCell, size.width / shape.columns, size.height / shape.rows);
}

export const wholeWindow = (size: Size, shape: Shape): MapWindow => clampWindow({ x: 0, y: 0, scale: 0 }, size, shape);

// Keeps the map at least as large as the window and inside it; a smaller map is at the upper left.
export function clampWindow(window: MapWindow, size: Size, shape: Shape): MapWindow {
  const scale = Math.min(Math.max(window.scale, fitScale(size, shape)), kLargestCell);
  const kept = (at: number, pixels: number, cells: number) =>
    Math.min(Math.max(at, 0), Math.max(0, cells - pixels / scale));
  return { x: kept(window.x, size.width, shape.columns), y: kept(window.y, size.height, shape.rows), scale };
}

// Zooms around (px, py): the cell there stays in place.
export function zoomWindow(
  window: MapWindow,
  factor: number,
  [px, py]: [number, number],
  size: Size,
  shape: Shape,
): MapWindow {
  const scale = Math.min(Math.max(window.scale * factor, fitScale(size, shape)), kLargestCell);
  const x = window.x + px / window.scale - px / scale;
  const y = window.y + py / window.scale - py / scale;
  return clampWindow({ x, y, scale }, size, shape);
}

// Moves the window as little as needed to show a cell.
export function revealCell(window: MapWindow, row: number, column: number, size: Size, shape: Shape): MapWindow {
  const moved = (from: number, pixels: number, cell: number) => {
    const cells = pixels / window.scale;
    const margin = Math.min(1, Math.max(0, (cells - 1) / 2));
    return Math.min(Math.max(from, cell + 1 + margin - cells), cell - margin);
  };
  return clampWindow(
    { ...window, x: moved(window.x, size.width, column), y: moved(window.y, size.height, row) },
    size,
    shape,
  );
}
