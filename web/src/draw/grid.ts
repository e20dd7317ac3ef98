// Where the heads stand in the overview: by layer and head, or sorted.
import type { HeadFacts } from "../api/facts";
import type { Sort } from "../state/urlState";
import type { Size } from "./mapWindow";

export interface Grid {
  columns: number;
  rows: number;
  cell: number; // pixels per side
  pitchX: number;
  pitchY: number;
  left: number;
  top: number;
  width: number;
  height: number;
}

const kGap = 4;
const kSmallest = 22;
const kSmallestToFit = 40; // smaller cells scroll instead
const kLargest = 160;
const kCaption = 34; // two lines below a sorted head

export function layerGrid(layers: number, heads: number, size: Size): Grid {
  const [left, top] = [36, 24];
  const across = (size.width - left - 12) / heads - kGap;
  const down = (size.height - top - 8) / layers - kGap;
  const cell = Math.floor(Math.min(kLargest, Math.max(kSmallest, Math.min(across, Math.max(down, kSmallestToFit)))));
  return grid(heads, layers, cell, { left, top, below: 0 });
}

// Room for a list of heads: beside the grid, or below it in lines and columns.
export type ListSpace = { beside: number } | { rows: number; columns: number };

const kListWidth = 232;
const kListColumn = 264; // below the grid
const kListLine = 32; // large enough for touch; the title has the same height
const kClear = 64; // a cell of this size still shows its pattern

const beside = (grid: Grid, { width }: Size): ListSpace | null =>
  width - grid.width >= kListWidth ? { beside: width - grid.width } : null;

function below(grid: Grid, { width, height }: Size): ListSpace | null {
  const rows = Math.floor((height - grid.height) / kListLine) - 1;
  return rows > 0 ? { rows, columns: Math.max(1, Math.floor((width - grid.left) / kListColumn)) } : null;
}

// Shrinks the heads to make room for the list, unless they become too small to read.
export function gridWithList(layers: number, heads: number, size: Size): { grid: Grid; list: ListSpace | null } {
  const whole = layerGrid(layers, heads, size);
  const list = beside(whole, size) ?? below(whole, size);
  if (list) return { grid: whole, list };
  const smaller = layerGrid(layers, heads, { ...size, width: size.width - kListWidth });
  return smaller.cell < kClear ? { grid: whole, list } : { grid: smaller, list: beside(smaller, size) };
}

export function sortedGrid(count: number, size: Size): Grid {
  const [left, top] = [16, 8];
  const wanted = 96;
  const columns = Math.max(1, Math.min(count, Math.floor((size.width - left - 8) / (wanted + 12))));
  const cell = Math.min(120, Math.floor((size.width - left - 8) / columns) - 12);
  return grid(columns, Math.ceil(count / columns), cell, { left, top, below: kCaption, gap: 12 });
}

// Heads as plain squares in a given width.
export function squareGrid(layers: number, heads: number, width: number): Grid {
  const [left, top] = [24, 20];
  const cell = Math.min(36, Math.max(8, Math.floor((width - left) / heads) - 2));
  return grid(heads, layers, cell, { left, top, below: 0, gap: 2 });
}

interface Edges {
  left: number;
  top: number;
  below: number;
  gap?: number;
}

function grid(columns: number, rows: number, cell: number, { left, top, below, gap = kGap }: Edges): Grid {
  const [pitchX, pitchY] = [cell + gap, cell + below + gap];
  return {
    columns,
    rows,
    cell,
    pitchX,
    pitchY,
    left,
    top,
    width: left + columns * pitchX,
    height: top + rows * pitchY,
  };
}

// The index at a point of the grid; -1: none.
export function indexAt(grid: Grid, x: number, y: number, count: number): number {
  const column = Math.floor((x - grid.left) / grid.pitchX);
  const row = Math.floor((y - grid.top) / grid.pitchY);
  if (column < 0 || column >= grid.columns || row < 0) return -1;
  const place = row * grid.columns + column;
  return place < count ? place : -1;
}

const kKeys = {
  entropy: (head: HeadFacts) => head.entropy,
  distance: (head: HeadFacts) => -head.distance,
};

// Sorts heads for display. "interest" follows the server's ranking, which puts resting heads
// last; ties keep their order.
export function ordered(heads: HeadFacts[], ranking: number[], sort: Sort): HeadFacts[] {
  if (sort === "place") return heads;
  if (sort === "interest") return ranking.map((place) => heads[place]);
  return [...heads].sort((a, b) => kKeys[sort](a) - kKeys[sort](b));
}
