// Requests and answers about masks; only the server parses their text.
import { request } from "./http";
import { maskUrl } from "./routes";
import type { Cell } from "../input/panZoom";

// The engine's tiles: none (0), some (1) or all (2) of their pairs are visible.
export interface EngineTiles {
  rows: number; // queries per tile
  keys: number;
  down: number;
  across: number;
  covers: string | null; // row by row; null: too many to send
  full: number;
  partial: number;
  skipped: number;
}

// Members are named as in the server's JSON.
export interface MaskAnswer {
  text: string; // in canonical form
  pairs: number;
  share: number;
  rows: string[] | null; // "110…", one string per query; null: too many to send
  picture: { rows: number; columns: number; cells: string };
  tiles: EngineTiles;
}

export async function requestMask(text: string, size: number, signal?: AbortSignal): Promise<MaskAnswer> {
  return (await request(maskUrl(), { body: { text, queries: size, keys: size }, signal })).json();
}

export const kPaintable = 128; // tokens
export const kNoMask = "everything";

// The effective mask of a model with a causal rule of its own.
export const withCausal = (text: string, causal: boolean): string =>
  !causal ? text : text === kNoMask ? "causal" : `causal & (${text})`;

// Bytes 0 to 255: the share of visible pairs, per pair or per block of pairs.
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

// Queries that see no key: the engine gives them zeros.
export const emptyRows = (rows: string[]): number[] => rows.flatMap((row, i) => (row.includes("1") ? [] : [i]));

// The share of pairs that the engine computes, in whole tiles. Null: unknown.
export function computedShare(tiles: EngineTiles, queries: number, keys: number): number | null {
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

export function coverAt(tiles: EngineTiles, { row, column }: Cell): number | null {
  if (!tiles.covers) return null;
  const at = Math.floor(row / tiles.rows) * tiles.across + Math.floor(column / tiles.keys);
  return Number(tiles.covers[at]);
}
