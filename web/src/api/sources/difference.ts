import type { Facts, HeadName, Kind } from "../facts";
import { request } from "../http";
import { compareUrl, type Query } from "../routes";
import { headQuery, readMapTile } from "./served";
import type { MapTile, MapTileName, Profile, Source } from "./source";

// Differences A - B per head on A's tokens: numbers from -1 to 1.
export class DifferenceSource implements Source {
  readonly canMergeWords = true;
  readonly exact = true;
  readonly highestLevel = Infinity;

  constructor(
    readonly facts: Facts,
    private readonly sides: { a: string; b: string; words: boolean },
  ) {}

  has(): boolean {
    return true;
  }

  async thumbnails(kind: Kind): Promise<Uint8Array> {
    return new Uint8Array(await (await request(this.url("thumbnails", { kind }))).arrayBuffer());
  }

  async tile(head: HeadName, tile: MapTileName, signal?: AbortSignal): Promise<MapTile> {
    const response = await request(this.url("tile", { ...headQuery(head), ...tile }), { signal });
    return readMapTile(response);
  }

  async row(head: HeadName, row: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(
      await (await request(this.url("row", { ...headQuery(head), row }), { signal })).arrayBuffer(),
    );
  }

  async column(head: HeadName, column: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(
      await (await request(this.url("column", { ...headQuery(head), column }), { signal })).arrayBuffer(),
    );
  }

  profile(): Promise<Profile> {
    return Promise.reject(new Error("differences have no profile"));
  }

  private url(what: string, query: Query): string {
    const { a, b, words } = this.sides;
    return compareUrl(a, b, words, what, query);
  }
}
