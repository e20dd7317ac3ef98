// Edits of a mask: painting cells, writing its text.
import type { Shares } from "../api/mask";
import type { Cell } from "./panZoom";

// "table(110,011)"
export function maskTable({ rows, columns, bytes }: Shares): string {
  const line = (i: number) => [...bytes.subarray(i * columns, (i + 1) * columns)].map((b) => (b ? "1" : "0")).join("");
  return `table(${Array.from({ length: rows }, (_, i) => line(i)).join(",")})`;
}

// Cells on the line between two cells, so that a quick stroke leaves no gaps.
export function cellsBetween(from: Cell, to: Cell): Cell[] {
  const steps = Math.max(Math.abs(to.row - from.row), Math.abs(to.column - from.column), 1);
  return Array.from({ length: steps + 1 }, (_, k) => ({
    row: Math.round(from.row + ((to.row - from.row) * k) / steps),
    column: Math.round(from.column + ((to.column - from.column) * k) / steps),
  }));
}

export function rectangle(one: Cell, other: Cell): Cell[] {
  const [top, bottom] = [Math.min(one.row, other.row), Math.max(one.row, other.row)];
  const [left, right] = [Math.min(one.column, other.column), Math.max(one.column, other.column)];
  const cells: Cell[] = [];
  for (let row = top; row <= bottom; ++row)
    for (let column = left; column <= right; ++column) cells.push({ row, column });
  return cells;
}

export function painted(shares: Shares, cells: Cell[], seen: boolean): Shares {
  const bytes = shares.bytes.slice();
  for (const { row, column } of cells) bytes[row * shares.columns + column] = seen ? 255 : 0;
  return { ...shares, bytes };
}

export const seenAt = (shares: Shares, { row, column }: Cell): boolean =>
  shares.bytes[row * shares.columns + column] > 0;

// The part of a text around a column (the first is 1) and a caret below it.
export function caret(text: string, column: number, room = 64): { line: string; mark: string } {
  const from = Math.max(0, Math.min(column - 1 - (room >> 1), text.length - room));
  const before = from > 0 ? "…" : "";
  const after = from + room < text.length ? "…" : "";
  const line = before + text.slice(from, from + room) + after;
  return { line, mark: " ".repeat(column - 1 - from + before.length) + "^" };
}

// Inserts a name at the cursor, with an operator if another name precedes it.
export function inserted(text: string, name: string, from: number, to: number): { text: string; cursor: number } {
  const [before, after] = [text.slice(0, from), text.slice(to)];
  const operator = /^[&|]$/.test(name);
  const joined = /[\w)]\s*$/.test(before) && !operator && name !== ")";
  const space = before && !/[\s(~]$/.test(before) && name !== ")" ? " " : "";
  const put = (joined ? `${space}& ${name}` : space + name) + (operator ? " " : "");
  return { text: before + put + after, cursor: from + put.length };
}

export interface Preset {
  name: "causal" | "sliding" | "local" | "prefix" | "blocks" | "sparse";
  text: string;
}

// Presets sized for this many tokens.
export function presets(size: number): Preset[] {
  const near = Math.max(1, Math.round(size / 8));
  const half = Math.max(1, Math.round(size / 2.5));
  return [
    { name: "causal", text: "causal" },
    { name: "sliding", text: `causal & window(${near})` },
    { name: "local", text: `window(${near}) | global(1)` },
    { name: "prefix", text: `causal | prefix(${half})` },
    { name: "blocks", text: `block(${Math.max(2, Math.round(size / 4))})` },
    { name: "sparse", text: `sparse(${Math.max(2, Math.round(Math.sqrt(size)))})` },
  ];
}
