import type { Facts, HeadName, Kind, SpecimenName } from "./facts";
import type { Profile, Source, Tile, TileName } from "./source";

async function answer(url: string, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { signal });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Error("gone", { cause: problem });
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => null);
  throw new Error(said?.error ?? `${response.status} ${response.statusText}`);
}

export async function specimens(): Promise<SpecimenName[]> {
  return (await (await answer("api/specimens")).json()).specimens;
}

export class ServedSource implements Source {
  readonly canMergeWords = true;
  readonly exact = true;
  readonly highestLevel = Infinity;

  private constructor(
    readonly facts: Facts,
    private readonly words: boolean,
  ) {}

  static async open(id: string, words: boolean): Promise<ServedSource> {
    const response = await answer(`api/specimens/${encodeURIComponent(id)}${words ? "?words=1" : ""}`);
    return new ServedSource(await response.json(), words);
  }

  holds(): boolean {
    return true;
  }

  async thumbnails(kind: Kind): Promise<Uint8Array> {
    return new Uint8Array(await this.bytes("thumbnails", { kind }));
  }

  async tile(head: HeadName, tile: TileName, signal?: AbortSignal): Promise<Tile> {
    const response = await answer(this.url("tile", { ...named(head), ...tile }), signal);
    const [rows, columns] = (response.headers.get("X-Shape") ?? "").split(",").map(Number);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length !== rows * columns)
      throw new Error(`a tile of ${rows} x ${columns} came as ${bytes.length} bytes`);
    return { rows, columns, bytes };
  }

  async row(head: HeadName, row: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await this.bytes("row", { ...named(head), row }, signal));
  }

  async column(head: HeadName, column: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await this.bytes("column", { ...named(head), column }, signal));
  }

  async profile(head: HeadName, signal?: AbortSignal): Promise<Profile> {
    return (await answer(this.url("profile", named(head)), signal)).json();
  }

  private async bytes(what: string, query: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    return (await answer(this.url(what, query), signal)).arrayBuffer();
  }

  private url(what: string, query: Query): string {
    const parts = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
    if (this.words) parts.push("words=1");
    return `api/specimens/${encodeURIComponent(this.facts.id)}/${what}?${parts.join("&")}`;
  }
}

type Query = Record<string, string | number>;

const named = ({ kind, layer, head }: HeadName): Query => ({ kind, layer, head });
