// A mask as the page writes, paints and counts it; the program alone knows what a text means.
import { ask } from "./ask";
import type { Cell } from "../input/hand";

// The engine's tiles: none of their pairs is seen (0), some are (1), all are (2).
export interface MaskTiles {
  rows: number; // queries of one
  keys: number;
  down: number;
  across: number;
  covers: string | null; // row by row; null: too many to send
  full: number;
  partial: number;
  skipped: number;
}

// The words of the program's JSON.
export interface MaskAnswer {
  text: string; // as the mask itself writes it
  pairs: number;
  share: number;
  rows: string[] | null; // "110…", a query a string; null: too many to send
  picture: { rows: number; columns: number; cells: string };
  tiles: MaskTiles;
}

export async function askMask(text: string, size: number, signal?: AbortSignal): Promise<MaskAnswer> {
  return (await ask("api/mask", { body: { text, queries: size, keys: size }, signal })).json();
}

export const kPaintable = 128; // tokens
export const kEverything = "everything";

// What holds where the model has a rule of its own.
export const both = (text: string, causal: boolean): string =>
  !causal ? text : text === kEverything ? "causal" : `causal & (${text})`;

// Bytes 0 to 255, the share of pairs that are seen: of each pair, or of squares of them.
export interface Shares {
  rows: number;
  columns: number;
  bytes: Uint8Array;
}

export function sharesOf({ rows, picture }: Pick<MaskAnswer, "rows" | "picture">): Shares {
  if (!rows) {
    const cells = atob(picture.cells);
    return { ...picture, bytes: Uint8Array.from(cells, (letter) => letter.charCodeAt(0)) };
  }
  const columns = rows[0]?.length ?? 0;
  const bytes = new Uint8Array(rows.length * columns);
  rows.forEach((row, i) => {
    for (let j = 0; j < columns; ++j) bytes[i * columns + j] = row[j] === "1" ? 255 : 0;
  });
  return { rows: rows.length, columns, bytes };
}

// "table(110,011)"
export function tableOf({ rows, columns, bytes }: Shares): string {
  const line = (i: number) => [...bytes.subarray(i * columns, (i + 1) * columns)].map((b) => (b ? "1" : "0")).join("");
  return `table(${Array.from({ length: rows }, (_, i) => line(i)).join(",")})`;
}

// Along the way from one cell to another: a quick stroke leaves no gaps.
export function wayBetween(from: Cell, to: Cell): Cell[] {
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

// Queries that may see nothing: the engine gives them zeros.
export const blind = (rows: string[]): number[] => rows.flatMap((row, i) => (row.includes("1") ? [] : [i]));

// How much of all pairs the engine computes: whole tiles, those at the edges as large as they are. Null: unknown.
export function computed(tiles: MaskTiles, queries: number, keys: number): number | null {
  if (tiles.skipped === 0) return 1;
  if (!tiles.covers) return null;
  let pairs = 0;
  for (let r = 0; r < tiles.down; ++r) {
    const high = Math.min(tiles.rows, queries - r * tiles.rows);
    for (let c = 0; c < tiles.across; ++c) {
      if (tiles.covers[r * tiles.across + c] === "0") continue;
      pairs += high * Math.min(tiles.keys, keys - c * tiles.keys);
    }
  }
  return pairs / (queries * keys);
}

export function coverAt(tiles: MaskTiles, { row, column }: Cell): number | null {
  if (!tiles.covers) return null;
  const at = Math.floor(row / tiles.rows) * tiles.across + Math.floor(column / tiles.keys);
  return Number(tiles.covers[at]);
}

// The part of a text around a column (the first is 1) and a caret below it.
export function caret(text: string, column: number, room = 64): { line: string; mark: string } {
  const from = Math.max(0, Math.min(column - 1 - (room >> 1), text.length - room));
  const before = from > 0 ? "…" : "";
  const after = from + room < text.length ? "…" : "";
  const line = before + text.slice(from, from + room) + after;
  return { line, mark: " ".repeat(column - 1 - from + before.length) + "^" };
}

// A name put where the cursor is: after another one it needs a sign between them.
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

// Sized so that their shape shows at this many tokens.
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
