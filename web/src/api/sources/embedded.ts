import { WithoutSinksSource } from "./withoutSinks";
import { type Facts, type HeadName, type Kind, keyOf, stackOf } from "../facts";
import type { Measure } from "../../state/urlState";
import {
  mergeTiles,
  kMapTileSize,
  kWeightOfByte,
  type Profile,
  type Source,
  type MapTile,
  type MapTileName,
  type Recording,
} from "./source";

interface Block {
  name: string;
  bits: 8 | 16;
  shape: number[];
  offset: number; // from the end of the JSON
}

// uint32 n, n bytes of JSON, then the blocks; all of it deflated and written in base64.
export async function unpack(base64: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class EmbeddedSource implements Recording {
  readonly canMergeWords = false;
  readonly highestLevel = Infinity;
  readonly exact: boolean;
  readonly facts: Facts;
  private readonly blocks = new Map<string, Block>();
  private readonly tiles = new Map<string, MapTile>(); // coarser tiles of the last head
  private tilesOf = "";
  private readonly start: number;

  constructor(private readonly data: Uint8Array<ArrayBuffer>) {
    const length = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
    this.start = 4 + length;
    const head = JSON.parse(new TextDecoder().decode(data.subarray(4, this.start)));
    this.facts = head.facts;
    for (const block of head.blocks as Block[]) this.blocks.set(block.name, block);
    this.exact = ![...this.blocks.values()].some((block) => block.name.startsWith("head/") && block.bits === 8);
  }

  has(head: HeadName): boolean {
    return this.blocks.has(`head/${keyOf(head)}`);
  }

  // The file holds weights and nothing else.
  withMeasure(_measure: Measure, withoutSinks: boolean): Source {
    return withoutSinks ? new WithoutSinksSource(this) : this;
  }

  async thumbnails(kind: Kind): Promise<Uint8Array> {
    return this.bytes(this.block(`thumbnails/${kind}`));
  }

  async tile(head: HeadName, tile: MapTileName): Promise<MapTile> {
    if (this.tilesOf !== keyOf(head)) this.tiles.clear();
    this.tilesOf = keyOf(head);
    return this.reduced(this.block(`head/${keyOf(head)}`), tile);
  }

  async row(head: HeadName, row: number): Promise<Float32Array> {
    const block = this.block(`head/${keyOf(head)}`);
    return this.weights(block, row * block.shape[1], block.shape[1], 1);
  }

  async column(head: HeadName, column: number): Promise<Float32Array> {
    const block = this.block(`head/${keyOf(head)}`);
    return this.weights(block, column, block.shape[0], block.shape[1]);
  }

  async profile(head: HeadName): Promise<Profile> {
    const { queries, keys } = stackOf(this.facts, head.kind);
    const received = new Float64Array(keys);
    const entropy = new Float64Array(queries);
    for (let i = 0; i < queries; ++i) {
      const row = await this.row(head, i);
      for (let j = 0; j < keys; ++j) {
        received[j] += row[j];
        if (row[j] > 0) entropy[i] -= row[j] * Math.log(row[j]);
      }
    }
    return { received, entropy };
  }

  private block(name: string): Block {
    const block = this.blocks.get(name);
    if (!block) throw new Error("left out");
    return block;
  }

  private bytes({ bits, shape, offset }: Block): Uint8Array {
    const count = shape.reduce((a, b) => a * b, 1);
    return this.data.subarray(this.start + offset, this.start + offset + (count * bits) / 8);
  }

  private weights(block: Block, first: number, count: number, step: number): Float32Array {
    const bytes = this.bytes(block);
    const out = new Float32Array(count);
    for (let i = 0, at = first; i < count; ++i, at += step) {
      out[i] = block.bits === 8 ? kWeightOfByte[bytes[at]] : ((bytes[2 * at] + 256 * bytes[2 * at + 1]) / 65535) ** 2;
    }
    return out;
  }

  private reduced(block: Block, name: MapTileName): MapTile {
    if (name.level === 0) return this.cells(block, name);
    const key = `${name.level}/${name.row}/${name.column}`;
    let tile = this.tiles.get(key);
    if (!tile) {
      const below = { level: name.level - 1, row: 2 * name.row, column: 2 * name.column };
      const size = kMapTileSize << below.level;
      tile = mergeTiles((r, c) => {
        const inside = (below.row + r) * size < block.shape[0] && (below.column + c) * size < block.shape[1];
        return inside ? this.reduced(block, { ...below, row: below.row + r, column: below.column + c }) : null;
      });
      this.tiles.set(key, tile);
    }
    return tile;
  }

  private cells(block: Block, { row, column }: MapTileName): MapTile {
    const [queries, keys] = block.shape;
    const rows = Math.min(kMapTileSize, queries - row * kMapTileSize);
    const columns = Math.min(kMapTileSize, keys - column * kMapTileSize);
    const from = this.bytes(block);
    const bytes = new Uint8Array(rows * columns);
    for (let r = 0; r < rows; ++r) {
      const start = (row * kMapTileSize + r) * keys + column * kMapTileSize;
      for (let c = 0; c < columns; ++c) {
        const at = start + c;
        bytes[r * columns + c] =
          block.bits === 8 ? from[at] : Math.round((from[2 * at] + 256 * from[2 * at + 1]) / 257);
      }
    }
    return { rows, columns, bytes };
  }
}
