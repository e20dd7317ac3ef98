import { ask, askJson, follow, type Listeners, type Question, Refused } from "../ask";
import type { Facts, HeadName, Kind, ModelFacts, SpecimenName } from "../facts";
import { make } from "../origin";
import type { Measure } from "../../state/place";
import type { Profile, Source, Tile, TileName, Whole } from "./source";

export async function specimens(): Promise<SpecimenName[]> {
  const { specimens } = await askJson<{ specimens: SpecimenName[] }>("api/specimens");
  return specimens.filter(({ stays }) => stays !== false);
}

export async function models(): Promise<ModelFacts[]> {
  return (await askJson<{ models: ModelFacts[] }>("api/models")).models;
}

export class ServedSource implements Whole {
  readonly canMergeWords = true;
  readonly exact = true;
  readonly highestLevel = Infinity;

  private constructor(
    readonly facts: Facts,
    private readonly words: boolean,
    private readonly look: Query = {}, // how tables are looked at
  ) {}

  seen(measure: Measure, aside: boolean): Source {
    const look: Query = measure === "raw" ? {} : { measure };
    return new ServedSource(this.facts, this.words, aside ? { ...look, aside: 1 } : look);
  }

  // All weights are looked over once before the first answer: `on.progress` is told how far that is.
  static async open(id: string, words: boolean, signal?: AbortSignal, on?: Listeners): Promise<ServedSource> {
    const url = `api/specimens/${encodeURIComponent(id)}${words ? "?words=1" : ""}`;
    await follow(url, { signal, on });
    return new ServedSource(await askJson<Facts>(url, { signal }), words);
  }

  // Questions that a single view has; `long` ones tell `on` how far they are.
  answer(what: string, query: Query = {}, question: Question = {}): Promise<Response> {
    return this.kept(() => ask(this.url(what, query, false), question));
  }

  // For a link.
  address(what: string, query: Query): string {
    return this.url(what, query, false);
  }

  json<T>(what: string, query: Query = {}, question: Question = {}): Promise<T> {
    return this.kept(() => askJson<T>(this.url(what, query, false), question));
  }

  long<T>(what: string, query: Query = {}, question: Question = {}): Promise<T> {
    return this.kept(() => follow<T>(this.url(what, query, false), question));
  }

  // The program may have let go of this specimen: then it is made again, once a question.
  private async kept<T>(put: () => Promise<T>): Promise<T> {
    const { id, origin } = this.facts;
    try {
      return await put();
    } catch (problem) {
      if (!origin || !(problem instanceof Refused) || problem.status !== 404) throw problem;
    }
    if (this.facts.id === id) {
      this.making ??= make(origin)
        .then((fresh) => void (this.facts.id = fresh))
        .finally(() => (this.making = null));
      await this.making;
    }
    return put();
  }
  private making: Promise<void> | null = null;

  holds(): boolean {
    return true;
  }

  async thumbnails(kind: Kind): Promise<Uint8Array> {
    return new Uint8Array(await this.bytes("thumbnails", { kind }));
  }

  async tile(head: HeadName, tile: TileName, signal?: AbortSignal): Promise<Tile> {
    const response = await this.kept(() =>
      ask(this.url("tile", { ...named(head), ...tile, ...this.look }), { signal }),
    );
    const [rows, columns] = (response.headers.get("X-Shape") ?? "").split(",").map(Number);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length !== rows * columns)
      throw new Error(`a tile of ${rows} x ${columns} came as ${bytes.length} bytes`);
    return { rows, columns, bytes, scale: Number(response.headers.get("X-Scale") ?? 1) };
  }

  async row(head: HeadName, row: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await this.bytes("row", { ...named(head), row, ...this.look }, signal));
  }

  async column(head: HeadName, column: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await this.bytes("column", { ...named(head), column, ...this.look }, signal));
  }

  async profile(head: HeadName, signal?: AbortSignal): Promise<Profile> {
    return this.kept(() => askJson(this.url("profile", { ...named(head), ...this.look }), { signal }));
  }

  private async bytes(what: string, query: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    return (await this.kept(() => ask(this.url(what, query), { signal }))).arrayBuffer();
  }

  private url(what: string, query: Query, words = this.words): string {
    const parts = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
    if (words) parts.push("words=1");
    return `api/specimens/${encodeURIComponent(this.facts.id)}/${what}?${parts.join("&")}`;
  }
}

export type Query = Record<string, string | number>;

const named = ({ kind, layer, head }: HeadName): Query => ({ kind, layer, head });
