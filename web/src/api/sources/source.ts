// Sources of attention tables: a server, or data inside the page. Callers do not know which.
import type { Facts, HeadName, Kind } from "../facts";
import type { Measure } from "../../state/urlState";

export const kMapTileSize = 256;

// Bytes are round(255 sqrt(w / scale)): level z holds the largest of 2^z x 2^z weights.
export interface MapTile {
  rows: number;
  columns: number;
  bytes: Uint8Array;
  scale?: number; // the value of byte 255; default 1
}

export interface MapTileName {
  level: number;
  row: number;
  column: number;
}

export interface Profile {
  received: ArrayLike<number> | null; // [M] column sums; null: not known
  entropy: ArrayLike<number>; // [N] nats
}

export interface Source {
  readonly facts: Facts;
  readonly canMergeWords: boolean;
  // False where an offline file left a head's table out.
  has(head: HeadName): boolean;
  // Whether row() and column() are exact, not decoded from bytes.
  readonly exact: boolean;
  // Tiles above this level show plain weights, without what this source changes.
  readonly highestLevel: number;
  thumbnails(kind: Kind): Promise<Uint8Array>;
  tile(head: HeadName, tile: MapTileName, signal?: AbortSignal): Promise<MapTile>;
  row(head: HeadName, row: number, signal?: AbortSignal): Promise<Float32Array>;
  column(head: HeadName, column: number, signal?: AbortSignal): Promise<Float32Array>;
  profile(head: HeadName, signal?: AbortSignal): Promise<Profile>;
}

// A recording: a source that also offers other measures.
export interface Recording extends Source {
  // The same heads by another measure, or without their sinks; thumbnails stay as they are.
  withMeasure(measure: Measure, withoutSinks: boolean): Source;
}

// w = (b / 255)^2
export const kWeightOfByte: Float32Array = Float32Array.from({ length: 256 }, (_, b) => (b / 255) ** 2);

export const byteOfWeight = (weight: number): number => Math.round(255 * Math.sqrt(Math.min(Math.max(weight, 0), 1)));

// The largest of each 2 x 2 block of cells.
function halveTile(tile: MapTile): MapTile {
  const rows = Math.ceil(tile.rows / 2);
  const columns = Math.ceil(tile.columns / 2);
  const bytes = new Uint8Array(rows * columns);
  for (let r = 0; r < tile.rows; ++r) {
    const to = (r >> 1) * columns;
    const from = r * tile.columns;
    for (let c = 0; c < tile.columns; ++c) {
      const b = tile.bytes[from + c];
      if (b > bytes[to + (c >> 1)]) bytes[to + (c >> 1)] = b;
    }
  }
  return { rows, columns, bytes };
}

// One tile of the four below it, halved. Only the last ones of a row or column of tiles are smaller than kMapTileSize.
export function mergeTiles(child: (r: number, c: number) => MapTile | null): MapTile {
  const parts = [0, 1].map((r) => [0, 1].map((c) => child(r, c)));
  const rows = (parts[0][0]?.rows ?? 0) + (parts[1][0]?.rows ?? 0);
  const columns = (parts[0][0]?.columns ?? 0) + (parts[0][1]?.columns ?? 0);
  const bytes = new Uint8Array(rows * columns);
  for (const r of [0, 1]) {
    for (const c of [0, 1]) {
      const part = parts[r][c];
      if (!part) continue;
      for (let i = 0; i < part.rows; ++i) {
        const line = part.bytes.subarray(i * part.columns, (i + 1) * part.columns);
        bytes.set(line, (r * kMapTileSize + i) * columns + c * kMapTileSize);
      }
    }
  }
  return halveTile({ rows, columns, bytes });
}
