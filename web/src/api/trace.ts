// One weight with all intermediate numbers, named as in the server's JSON, and the inputs of each.
import type { HeadName } from "./facts";

export interface Trace extends HeadName {
  key_head: number; // whose keys and values the head uses
  query: { token: number; text: string };
  key: { token: number; text: string };
  x: number[] | null; // [width] what q is made from
  q: number[]; // [D]
  k: number[];
  products: number[];
  dot: number;
  scale: number;
  softcap: number | null;
  bias: number | null;
  bucket: number | null;
  sink: number | null; // a score of the row that has no key
  mask: string;
  allowed: boolean;
  score: number | null; // null: -infinity
  lse: number;
  weight: number;
  v: number[] | null;
  contribution: number[] | null; // [width]
  contribution_norm: number | null;
  head_output: number[] | null;
  head_output_norm: number | null;
  share: number | null;
  missing?: string[];
}

const kVectors = ["x", "q", "k", "products", "v", "contribution", "head_output"] as const;

export type VectorTerm = (typeof kVectors)[number];
export type NumberTerm =
  | "dot"
  | "scale"
  | "softcap"
  | "bias"
  | "sink"
  | "score"
  | "lse"
  | "weight"
  | "contribution_norm"
  | "head_output_norm"
  | "share";
// `scores` and `weights`: of the whole row.
export type RowTerm = "scores" | "weights";
export type Term = VectorTerm | NumberTerm | RowTerm;

// The direct inputs of a number.
const kInputs: Record<Term, Term[]> = {
  x: [],
  q: ["x"],
  k: [],
  products: ["q", "k"],
  dot: ["products"],
  scale: [],
  softcap: [],
  bias: [],
  sink: [],
  score: ["dot", "scale", "softcap", "bias"],
  scores: [],
  lse: ["scores", "sink"],
  weights: ["scores", "lse"],
  weight: ["score", "lse"],
  v: [],
  contribution: ["weight", "v"],
  contribution_norm: ["contribution"],
  head_output: [],
  head_output_norm: ["head_output"],
  share: ["contribution", "head_output"],
};

export const inputsOf = (term: Term): readonly Term[] => kInputs[term];

// Whether a term is highlighted while `pointed` is active: the same term, or one of its inputs.
export const isHighlighted = (term: Term, pointed: Term | null): boolean =>
  pointed !== null && (term === pointed || kInputs[pointed].includes(term));

export const isVector = (term: Term): term is VectorTerm => (kVectors as readonly string[]).includes(term);

export const isOfRow = (term: Term): term is RowTerm => term === "scores" || term === "weights";

export const normOf = (values: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < values.length; ++i) sum += values[i] * values[i];
  return Math.sqrt(sum);
};

// Indices of the products, in order or largest first; ties keep their order.
export function orderOf(products: number[], bySize: boolean): number[] {
  const order = products.map((_, d) => d);
  return bySize ? order.sort((a, b) => Math.abs(products[b]) - Math.abs(products[a])) : order;
}

// Running sums of the products: the last one is the dot product.
export function runningSums(products: number[], order: number[]): Float64Array {
  const sums = new Float64Array(order.length);
  let sum = 0;
  order.forEach((d, n) => (sums[n] = sum += products[d]));
  return sums;
}

// Of the whole row: weight = exp(score - lse). A weight of 0 has no known score.
export const scoresOf = (weights: Float32Array, lse: number): Float64Array =>
  Float64Array.from(weights, (w) => (w > 0 ? Math.log(w) + lse : -Infinity));

// "1/√64" where the scale is that of the paper.
export function scaleName({ scale, q }: Pick<Trace, "scale" | "q">): string | null {
  return Math.abs(scale * Math.sqrt(q.length) - 1) < 1e-5 ? `1/√${q.length}` : null;
}

export function largestAt(values: ArrayLike<number>): number {
  let best = 0;
  for (let j = 1; j < values.length; ++j) if (values[j] > values[best]) best = j;
  return best;
}

// All D products as tab-separated lines.
export function productsText({ q, k, products }: Pick<Trace, "q" | "k" | "products">): string {
  const lines = products.map((product, d) => [d, q[d], k[d], product].join("\t"));
  return ["d\tq\tk\tq k", ...lines].join("\n") + "\n";
}
