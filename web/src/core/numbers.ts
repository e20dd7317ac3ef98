// Rows, columns, tiles and profiles of a source, as they arrive.
import { type HeadName, keyOf, stackOf } from "./facts";
import { Loader } from "./loader";
import { kTile, kWeightOfByte, type Profile, type Source, type Tile, type TileName } from "./source";

const kFewKeys = 1024; // up to here the rows on a screen come faster as tiles than one by one

export const tileKey = (head: HeadName, { level, row, column }: TileName): string =>
  `tile/${keyOf(head)}/${level}/${row}/${column}`;

export class Numbers {
  private readonly loader: Loader;

  constructor(
    readonly source: Source,
    changed: () => void,
    failed: (problem: Error) => void,
  ) {
    this.loader = new Loader(changed, failed);
  }

  row(head: HeadName, row: number): Float32Array | undefined {
    return this.loader.get(`row/${keyOf(head)}/${row}`, (signal) => this.source.row(head, row, signal));
  }

  column(head: HeadName, column: number): Float32Array | undefined {
    return this.loader.get(`column/${keyOf(head)}/${column}`, (signal) => this.source.column(head, column, signal));
  }

  profile(head: HeadName): Profile | undefined {
    return this.loader.get(`profile/${keyOf(head)}`, (signal) => this.source.profile(head, signal));
  }

  tile(head: HeadName, name: TileName): Tile | undefined {
    return this.loader.get(tileKey(head, name), (signal) => this.source.tile(head, name, signal));
  }

  tileThere(head: HeadName, name: TileName): Tile | undefined {
    return this.loader.peek(tileKey(head, name));
  }

  keepOnlyTiles(keys: Set<string>): void {
    this.loader.keepOnly("tile/", keys);
  }

  // Good enough to draw: a row as bytes have it, where many rows are wanted at once.
  rowToDraw(head: HeadName, row: number): Float32Array | undefined {
    const exact = this.loader.peek<Float32Array>(`row/${keyOf(head)}/${row}`);
    const { keys } = stackOf(this.source.facts, head.kind);
    if (exact || keys > kFewKeys) return exact ?? this.row(head, row);
    const tiles: Tile[] = [];
    for (let column = 0; column * kTile < keys; ++column) {
      const tile = this.tile(head, { level: 0, row: Math.floor(row / kTile), column });
      if (tile) tiles.push(tile);
    }
    return tiles.length * kTile >= keys ? this.joinedRow(tiles, row % kTile, keys) : undefined;
  }

  // Kept with its first tile: every frame asks for the rows in sight.
  private joinedRow(tiles: Tile[], row: number, keys: number): Float32Array {
    const rows = this.joined.get(tiles[0]) ?? [];
    this.joined.set(tiles[0], rows);
    if (!rows[row]) {
      rows[row] = new Float32Array(keys);
      tiles.forEach((tile, column) => {
        const bytes = tile.bytes.subarray(row * tile.columns, (row + 1) * tile.columns);
        bytes.forEach((b, c) => (rows[row][column * kTile + c] = kWeightOfByte[b]));
      });
    }
    return rows[row];
  }
  private readonly joined = new WeakMap<Tile, Float32Array[]>();

  get waiting(): boolean {
    return this.loader.waiting;
  }
}
