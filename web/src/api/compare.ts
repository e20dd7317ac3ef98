// Two readings beside each other: what the program tells of them, which tokens stand beside which, and ready examples.
import { ask } from "./ask";
import type { Facts, HeadName, Kind, ModelFacts } from "./facts";
import { compact, type Origin } from "./origin";
import type { Place } from "../state/place";
import { type Profile, type Source, type Tile, type TileName } from "./sources/source";

export type Pair = [a: number, b: number];

export interface ComparedStack {
  kind: Kind;
  layers: number;
  heads: number;
  queries: number;
  keys: number;
  query_pairs: Pair[];
  key_pairs: Pair[];
}

export interface HeadChange extends HeadName {
  change: number;
  entropy_a: number;
  entropy_b: number;
}

// The words of the program's JSON.
export interface Comparison {
  a: string;
  b: string;
  stacks: ComparedStack[];
  heads: HeadChange[]; // most changed first
  rule: string;
}

type OfB = Pick<Place, "modelB" | "textB" | "pairB" | "maskB" | "offB">;

// B is read as A is (what is said, what is generated), except for what the address says of it. Null: nothing yet.
export function originB(place: OfB, a: Origin | null): Origin | null {
  if (!a || !place.modelB) return null;
  return compact({
    model: place.modelB,
    text: place.textB,
    pair: place.pairB,
    target: a.target,
    mask: place.maskB,
    off: place.offB,
    generate: place.modelB === a.model ? a.generate : null,
  });
}

export const placeOfB = (origin: Origin): OfB => ({
  modelB: origin.model,
  textB: origin.text,
  pairB: origin.pair ?? "",
  maskB: origin.mask ?? "",
  offB: origin.off ?? [],
});

// A's tokens with what A has more than B of each head: a map like a head's, of numbers from -1 to 1.
export class ComparedSource implements Source {
  readonly canMergeWords = true;
  readonly exact = true;
  readonly highestLevel = Infinity;

  constructor(
    readonly facts: Facts,
    private readonly sides: { a: string; b: string; words: boolean },
  ) {}

  holds(): boolean {
    return true;
  }

  async thumbnails(kind: Kind): Promise<Uint8Array> {
    return new Uint8Array(await (await ask(this.url("thumbnails", { kind }))).arrayBuffer());
  }

  async tile(head: HeadName, tile: TileName, signal?: AbortSignal): Promise<Tile> {
    const response = await ask(this.url("tile", { ...named(head), ...tile }), { signal });
    const [rows, columns] = (response.headers.get("X-Shape") ?? "").split(",").map(Number);
    return { rows, columns, bytes: new Uint8Array(await response.arrayBuffer()) };
  }

  async row(head: HeadName, row: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await (await ask(this.url("row", { ...named(head), row }), { signal })).arrayBuffer());
  }

  async column(head: HeadName, column: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(
      await (await ask(this.url("column", { ...named(head), column }), { signal })).arrayBuffer(),
    );
  }

  profile(): Promise<Profile> {
    return Promise.reject(new Error("differences have no profile"));
  }

  private url(what: string, query: Record<string, string | number>): string {
    const { a, b, words } = this.sides;
    return compareUrl(a, b, words, what, query);
  }
}

const named = ({ kind, layer, head }: HeadName) => ({ kind, layer, head });

export function compareUrl(
  a: string,
  b: string,
  words: boolean,
  what = "",
  query: Record<string, string | number> = {},
): string {
  const parts = Object.entries({ a, b, ...query }).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  if (words) parts.push("words=1");
  return `api/compare${what && "/"}${what}?${parts.join("&")}`;
}

// For every token of A its place in B, -1 where B has none.
export function partners(pairs: Pair[], count: number): Int32Array {
  const found = new Int32Array(count).fill(-1);
  for (const [a, b] of pairs) found[a] = b;
  return found;
}

// The tokens of A that B lacks.
export const alone = (partner: Int32Array): Set<number> =>
  new Set([...partner.keys()].filter((token) => partner[token] < 0));

// Tokens above each other: of both, of A alone, of B alone; or a stretch of `same` ones that is left out.
export interface Beside {
  a: number | null;
  b: number | null;
  same?: number;
}

const kShort = 24; // places that are all shown
const kFewSame = 3; // not worth leaving out

// Both texts side by side, stretches without any change shortened, at most `most` places.
export function besides(pairs: Pair[], a: number, b: number, around = 6, most = 120): { all: Beside[]; left: number } {
  const places: Beside[] = [];
  let [i, j] = [0, 0];
  for (const [toA, toB] of [...pairs, [a, b] as Pair]) {
    while (i < toA) places.push({ a: i++, b: null });
    while (j < toB) places.push({ a: null, b: j++ });
    if (i < a && j < b) places.push({ a: i++, b: j++ });
  }
  if (places.length <= kShort) return { all: places, left: 0 };
  const changes = places.flatMap((place, at) => (place.a === null || place.b === null ? [at] : []));
  const all: Beside[] = [];
  let end = 0; // of what is already there
  for (const change of [...changes, places.length + around]) {
    const same = change - around - end;
    if (same > kFewSame) all.push({ a: null, b: null, same });
    if (same > kFewSame) end += same;
    all.push(...places.slice(end, change + around + 1));
    end = Math.max(end, Math.min(change + around + 1, places.length));
  }
  return { all: all.slice(0, most), left: Math.max(0, all.length - most) };
}

export interface RowDifference {
  key: number; // of A
  a: number;
  b: number | null; // null: B has no such token
  difference: number;
}

// One row of both, the largest differences first; then what A gives to tokens that B lacks. `elsewhere`: what B gives
// to tokens that A lacks.
export function rowDifferences(
  a: Float32Array,
  b: Float32Array | null,
  partner: Int32Array,
): { rows: RowDifference[]; elsewhere: number } {
  const rows = Array.from(a, (weight, key): RowDifference => {
    const other = b && partner[key] >= 0 ? b[partner[key]] : null;
    return { key, a: weight, b: other, difference: other === null ? NaN : weight - other };
  });
  const size = ({ a: weight, difference }: RowDifference) =>
    Number.isNaN(difference) ? (b ? weight - 2 : weight) : Math.abs(difference);
  rows.sort((one, other) => size(other) - size(one) || one.key - other.key);
  let elsewhere = 0;
  if (b) {
    const met = new Set(partner);
    b.forEach((weight, key) => (elsewhere += met.has(key) ? 0 : weight));
  }
  return { rows, elsewhere };
}

const kOthers: [string, string][] = [
  ["great", "terrible"],
  ["good", "bad"],
  ["wonderful", "awful"],
  ["cat", "dog"],
  ["mat", "rug"],
  ["he", "she"],
  ["his", "her"],
  ["man", "woman"],
  ["king", "queen"],
  ["boy", "girl"],
  ["happy", "sad"],
  ["big", "small"],
  ["hot", "cold"],
  ["old", "young"],
  ["is", "was"],
  ["好", "坏"],
  ["猫", "狗"],
  ["他", "她"],
  ["大", "小"],
];

const capital = (word: string): boolean => word[0] !== word[0].toLowerCase();

// The same text with one word changed: a known one for its counterpart, else as turnedAround().
export function variantOf(text: string): string {
  for (const pair of kOthers) {
    for (const [from, to] of [pair, [pair[1], pair[0]]]) {
      const word = /[a-z]/.test(from) ? new RegExp(`(?<!\\p{L})${from}(?!\\p{L})`, "iu") : new RegExp(from);
      const found = word.exec(text);
      if (!found) continue;
      const other = capital(found[0]) ? to[0].toUpperCase() + to.slice(1) : to;
      return text.slice(0, found.index) + other + text.slice(found.index + found[0].length);
    }
  }
  return turnedAround(text);
}

// The same words in another order: the two longest exchanged; where there is but one, a sign less.
export function turnedAround(text: string): string {
  const words = [...text.matchAll(/\p{L}+/gu)].sort((a, b) => b[0].length - a[0].length || a.index - b.index);
  const second = words.find((word) => word[0] !== words[0][0]);
  if (!second) return [...text].slice(0, -1).join("");
  const [one, two] = [words[0], second].sort((a, b) => a.index - b.index);
  const between = text.slice(one.index + one[0].length, two.index);
  return text.slice(0, one.index) + two[0] + between + one[0] + text.slice(two.index + two[0].length);
}

// Another model of the same form with as many heads: one whose heads can stand beside these.
export function otherModel(models: ModelFacts[], name: string): ModelFacts | undefined {
  const own = models.find((model) => model.name === name);
  return models.find(
    (model) =>
      own &&
      model !== own &&
      model.form === own.form &&
      model.layers === own.layers &&
      model.heads === own.heads &&
      model.decoder_layers === own.decoder_layers,
  );
}
