// Heads without their sinks: the first key and special keys weigh 0, and the rest of each row is
// renormalised. A row without other weight stays 0.
import { type Facts, type HeadName, type Kind, keyOf, sinkColumns, stackOf } from "../facts";
import {
  byteOfWeight,
  mergeTiles,
  kMapTileSize,
  kWeightOfByte,
  type Profile,
  type Source,
  type MapTile,
  type MapTileName,
} from "./source";

const kLeast = 1e-6; // smaller remainders are rounding errors
const kMostCells = 1 << 24; // coarser tiles need every cell: 4,096 x 4,096 are 16 MB

interface Rest {
  factor: Float64Array; // [N] 1 / (1 - mass on sinks), or 0
  lost: Float64Array; // [N] -sum over sinks of p log p
}

export class WithoutSinksSource implements Source {
  readonly facts: Facts;
  readonly canMergeWords: boolean;
  readonly exact: boolean;
  private readonly rests = new Map<string, Promise<Rest>>();
  private readonly tiles = new Map<string, Promise<MapTile>>();
  private tilesOf = "";

  constructor(private readonly whole: Source) {
    this.facts = whole.facts;
    this.canMergeWords = whole.canMergeWords;
    this.exact = whole.exact;
  }

  get highestLevel(): number {
    const most = Math.max(...this.facts.stacks.map((stack) => stack.queries * stack.keys));
    return most <= kMostCells ? this.whole.highestLevel : 0;
  }

  has(head: HeadName): boolean {
    return this.whole.has(head);
  }

  // Thumbnails always show the plain weights.
  thumbnails(kind: Kind): Promise<Uint8Array> {
    return this.whole.thumbnails(kind);
  }

  async row(head: HeadName, row: number, signal?: AbortSignal): Promise<Float32Array> {
    const [weights, { factor }] = await Promise.all([this.whole.row(head, row, signal), this.rest(head)]);
    const out = weights.map((w) => w * factor[row]);
    for (const j of this.sinks(head)) out[j] = 0;
    return out;
  }

  async column(head: HeadName, column: number, signal?: AbortSignal): Promise<Float32Array> {
    const [weights, { factor }] = await Promise.all([this.whole.column(head, column, signal), this.rest(head)]);
    if (this.sinks(head).includes(column)) return weights.fill(0);
    return weights.map((w, i) => w * factor[i]);
  }

  async tile(head: HeadName, name: MapTileName, signal?: AbortSignal): Promise<MapTile> {
    if (name.level === 0) return this.cells(head, name, signal);
    if (name.level > this.highestLevel) return this.whole.tile(head, name, signal);
    if (this.tilesOf !== keyOf(head)) this.tiles.clear();
    this.tilesOf = keyOf(head);
    const key = `${name.level}/${name.row}/${name.column}`;
    let tile = this.tiles.get(key);
    if (!tile) {
      tile = this.reduced(head, name);
      this.tiles.set(key, tile);
      tile.catch(() => this.tiles.delete(key));
    }
    return tile;
  }

  // H' = (H - lost) / r + log r, where r is what is left of a row.
  async profile(head: HeadName, signal?: AbortSignal): Promise<Profile> {
    const [{ entropy }, { factor, lost }] = await Promise.all([this.whole.profile(head, signal), this.rest(head)]);
    const after = Float64Array.from(factor, (f, i) => (f ? Math.max(0, (entropy[i] - lost[i]) * f - Math.log(f)) : 0));
    return { received: null, entropy: after };
  }

  private sinks(head: HeadName): number[] {
    return sinkColumns(stackOf(this.facts, head.kind));
  }

  private rest(head: HeadName): Promise<Rest> {
    const key = keyOf(head);
    let rest = this.rests.get(key);
    if (!rest) {
      rest = this.restOf(head);
      this.rests.set(key, rest);
      rest.catch(() => this.rests.delete(key));
    }
    return rest;
  }

  private async restOf(head: HeadName): Promise<Rest> {
    const { queries } = stackOf(this.facts, head.kind);
    const left = new Float64Array(queries).fill(1);
    const lost = new Float64Array(queries);
    const columns = await Promise.all(this.sinks(head).map((j) => this.whole.column(head, j)));
    for (const column of columns) {
      column.forEach((w, i) => {
        left[i] -= w;
        if (w > 0) lost[i] -= w * Math.log(w);
      });
    }
    return { factor: left.map((r) => (r > kLeast ? 1 / r : 0)), lost };
  }

  private async cells(head: HeadName, name: MapTileName, signal?: AbortSignal): Promise<MapTile> {
    const [tile, { factor }] = await Promise.all([this.whole.tile(head, name, signal), this.rest(head)]);
    const bytes = new Uint8Array(tile.bytes.length);
    for (let r = 0; r < tile.rows; ++r) {
      const f = factor[name.row * kMapTileSize + r];
      for (let at = r * tile.columns; at < (r + 1) * tile.columns; ++at) {
        bytes[at] = byteOfWeight(kWeightOfByte[tile.bytes[at]] * f);
      }
    }
    for (const j of this.sinks(head)) {
      const c = j - name.column * kMapTileSize;
      if (c < 0 || c >= tile.columns) continue;
      for (let r = 0; r < tile.rows; ++r) bytes[r * tile.columns + c] = 0;
    }
    return { ...tile, bytes };
  }

  private async reduced(head: HeadName, { level, row, column }: MapTileName): Promise<MapTile> {
    const { queries, keys } = stackOf(this.facts, head.kind);
    const size = kMapTileSize << (level - 1);
    const below = [0, 1].map((r) =>
      [0, 1].map((c) => {
        const name = { level: level - 1, row: 2 * row + r, column: 2 * column + c };
        return name.row * size < queries && name.column * size < keys ? this.tile(head, name) : null;
      }),
    );
    const tiles = await Promise.all(below.map((line) => Promise.all(line)));
    return mergeTiles((r, c) => tiles[r][c]);
  }
}
