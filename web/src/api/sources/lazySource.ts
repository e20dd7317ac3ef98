// Rows, columns, tiles and profiles of a source, loaded on demand.
import { type HeadName, keyOf, stackOf } from "../facts";
import { Loader } from "./loader";
import type { Side } from "../../state/urlState";
import { kMapTileSize, kWeightOfByte, type Profile, type Source, type MapTile, type MapTileName } from "./source";

const kLast = 48; // as many as a screen may need
const kFewKeys = 1024; // up to here tiles load faster than single rows

export const mapTileKey = (head: HeadName, { level, row, column }: MapTileName): string =>
  `tile/${keyOf(head)}/${level}/${row}/${column}`;

// A request, and the row and column that a recording must have for it.
interface Wanted {
  head: HeadName;
  row: number;
  column: number;
  ask: (of: LazySource) => void;
}

export class LazySource {
  private readonly loader: Loader;

  constructor(
    readonly source: Source,
    changed: () => void,
    failed: (problem: Error) => void,
  ) {
    this.loader = new Loader(changed, failed);
  }

  // Repeats the last requests of `before`, so that one picture can replace the other at once. Resolves when all is
  // loaded, or after `most` milliseconds.
  async prefetch(before: LazySource, most: number): Promise<void> {
    const until = performance.now() + most;
    for (const { head, row, column, ask } of before.last.values()) {
      const { kind, layers, heads, queries, keys } = stackOf(this.source.facts, head.kind);
      const there = kind === head.kind && head.layer < layers && head.head < heads && row < queries && column < keys;
      if (there && this.source.has(head)) ask(this);
    }
    await Promise.resolve();
    while (this.waiting && performance.now() < until) await new Promise((done) => setTimeout(done, 8));
  }
  private readonly last = new Map<string, Wanted>();

  private note(key: string, wanted: Wanted): void {
    this.last.delete(key);
    this.last.set(key, wanted);
    if (this.last.size > kLast) this.last.delete(this.last.keys().next().value!);
  }

  row(head: HeadName, row: number): Float32Array | undefined {
    const key = `row/${keyOf(head)}/${row}`;
    this.note(key, { head, row, column: 0, ask: (of) => of.row(head, row) });
    return this.loader.get(key, (signal) => this.source.row(head, row, signal));
  }

  column(head: HeadName, column: number): Float32Array | undefined {
    const key = `column/${keyOf(head)}/${column}`;
    this.note(key, { head, row: 0, column, ask: (of) => of.column(head, column) });
    return this.loader.get(key, (signal) => this.source.column(head, column, signal));
  }

  // The exact rows (or columns) of some tokens, summed; undefined until all of them are loaded.
  summed(head: HeadName, side: Side, tokens: number[]): Float32Array | undefined {
    const parts = tokens.map((token) => (side === "query" ? this.row(head, token) : this.column(head, token)));
    if (parts.length === 1) return parts[0];
    if (parts.includes(undefined)) return undefined;
    const sum = new Float32Array(parts[0]!.length);
    for (const part of parts) part!.forEach((w, j) => (sum[j] += w));
    return sum;
  }

  profile(head: HeadName): Profile | undefined {
    const key = `profile/${keyOf(head)}`;
    this.note(key, { head, row: 0, column: 0, ask: (of) => of.profile(head) });
    return this.loader.get(key, (signal) => this.source.profile(head, signal));
  }

  tile(head: HeadName, name: MapTileName): MapTile | undefined {
    const [key, size] = [mapTileKey(head, name), kMapTileSize << name.level];
    this.note(key, { head, row: name.row * size, column: name.column * size, ask: (of) => of.tile(head, name) });
    return this.loader.get(key, (signal) => this.source.tile(head, name, signal));
  }

  loadedTile(head: HeadName, name: MapTileName): MapTile | undefined {
    return this.loader.peek(mapTileKey(head, name));
  }

  keepOnlyMapTiles(keys: Set<string>): void {
    this.loader.keepOnly("tile/", keys);
  }

  // A row to draw, decoded from tiles where many rows are needed at once.
  approximateRow(head: HeadName, row: number): Float32Array | undefined {
    const exact = this.loader.peek<Float32Array>(`row/${keyOf(head)}/${row}`);
    const { keys } = stackOf(this.source.facts, head.kind);
    if (exact || keys > kFewKeys) return exact ?? this.row(head, row);
    const tiles: MapTile[] = [];
    for (let column = 0; column * kMapTileSize < keys; ++column) {
      const tile = this.tile(head, { level: 0, row: Math.floor(row / kMapTileSize), column });
      if (tile) tiles.push(tile);
    }
    return tiles.length * kMapTileSize >= keys ? this.joinedRow(tiles, row % kMapTileSize, keys) : undefined;
  }

  // Cached with the row's first tile: every frame reads all visible rows.
  private joinedRow(tiles: MapTile[], row: number, keys: number): Float32Array {
    const rows = this.joined.get(tiles[0]) ?? [];
    this.joined.set(tiles[0], rows);
    if (!rows[row]) {
      rows[row] = new Float32Array(keys);
      tiles.forEach((tile, column) => {
        const bytes = tile.bytes.subarray(row * tile.columns, (row + 1) * tile.columns);
        bytes.forEach((b, c) => (rows[row][column * kMapTileSize + c] = kWeightOfByte[b]));
      });
    }
    return rows[row];
  }
  private readonly joined = new WeakMap<MapTile, Float32Array[]>();

  get waiting(): boolean {
    return this.loader.waiting;
  }
}
