// Comparison of two recordings: the server's answer, and the alignment of their tokens.
import type { HeadName, Kind, ModelFacts } from "./facts";
import { compact, type RecordRequest } from "./recordRequest";
import type { UrlState } from "../state/urlState";

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

// Members are named as in the server's JSON.
export interface Comparison {
  a: string;
  b: string;
  stacks: ComparedStack[];
  heads: HeadChange[]; // most changed first
  rule: string;
}

type StateOfB = Pick<UrlState, "modelB" | "textB" | "pairB" | "maskB" | "offB">;

// B is recorded like A (same target, same generation), except for what the URL changes. Null: no B yet.
export function requestB(state: StateOfB, a: RecordRequest | null): RecordRequest | null {
  if (!a || !state.modelB) return null;
  return compact({
    model: state.modelB,
    text: state.textB,
    pair: state.pairB,
    target: a.target,
    mask: state.maskB,
    off: state.offB,
    generate: state.modelB === a.model ? a.generate : null,
  });
}

export const stateOfB = (request: RecordRequest): StateOfB => ({
  modelB: request.model,
  textB: request.text,
  pairB: request.pair ?? "",
  maskB: request.mask ?? "",
  offB: request.off ?? [],
});

// For every token of A its index in B, -1 where B has none.
export function partnerIndices(pairs: Pair[], count: number): Int32Array {
  const found = new Int32Array(count).fill(-1);
  for (const [a, b] of pairs) found[a] = b;
  return found;
}

// The tokens of A that B lacks.
export const unpaired = (partner: Int32Array): Set<number> =>
  new Set([...partner.keys()].filter((token) => partner[token] < 0));

// A column of the alignment: a token of both, of A or of B; or a run of `same` tokens that is left out.
export interface AlignedToken {
  a: number | null;
  b: number | null;
  same?: number;
}

const kShort = 24; // shorter alignments are shown in full
const kFewSame = 3; // shorter runs are not left out

// Aligns both texts and shortens runs without changes, to at most `most` columns.
export function alignTokens(
  pairs: Pair[],
  a: number,
  b: number,
  around = 6,
  most = 120,
): { all: AlignedToken[]; left: number } {
  const places: AlignedToken[] = [];
  let [i, j] = [0, 0];
  for (const [toA, toB] of [...pairs, [a, b] as Pair]) {
    while (i < toA) places.push({ a: i++, b: null });
    while (j < toB) places.push({ a: null, b: j++ });
    if (i < a && j < b) places.push({ a: i++, b: j++ });
  }
  if (places.length <= kShort) return { all: places, left: 0 };
  const changes = places.flatMap((place, at) => (place.a === null || place.b === null ? [at] : []));
  const all: AlignedToken[] = [];
  let end = 0; // of the columns so far
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

// One row of A and B, largest differences first, then tokens that B lacks. `elsewhere`: the weight that B gives
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

// Another model of the same form and size, whose heads can be compared with these.
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
