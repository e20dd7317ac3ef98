// Facts about a recording; members are named as in the server's JSON.
import type { RecordRequest } from "./recordRequest";
import type { Measure } from "../state/urlState";

export type Kind = "self" | "decoder" | "cross";

export interface HeadName {
  kind: Kind;
  layer: number;
  head: number;
}

export interface Token {
  text: string;
  special: boolean;
  word: number | null;
  sequence: number | null;
}

export interface Stack {
  kind: Kind;
  layers: number;
  heads: number;
  queries: number;
  keys: number;
  causal: boolean;
  query_tokens: Token[];
  key_tokens: Token[] | null; // null: the same as the queries'
  thumbnail: { rows: number; columns: number };
}

export interface HeadType {
  name: string;
  score: number;
  reason: string;
}

export interface HeadFacts extends HeadName {
  entropy: number;
  entropy_share: number;
  distance: number;
  shares: Record<string, number>;
  types: HeadType[];
  interest: number;
  resting: boolean;
  reason: string;
}

export interface ModelFacts {
  name: string;
  type: string;
  form: "encoder" | "decoder" | "encoder-decoder";
  layers: number;
  heads: number;
  decoder_layers: number;
  max_tokens: number; // 0: any number
  fills: boolean; // it predicts [MASK] tokens
  continues: boolean; // it generates text
  labels: string[];
  given?: boolean; // named on the command line
}

export interface Choice {
  id: number;
  text: string;
  probability: number;
}

// A generated token, and its alternatives.
export interface Step extends Choice {
  choices: Choice[];
  entropy: number;
}

export interface Facts {
  id: string;
  name: string;
  text: string;
  pair: string | null; // the second text
  model: (Pick<ModelFacts, "name" | "type"> & Partial<ModelFacts>) | null;
  origin?: RecordRequest | null; // how it was made; null: it cannot be made again
  live?: boolean; // the server can load its model
  measures?: Measure[];
  bytes?: number; // of the recording
  generated?: { from: number; steps: Step[] } | null;
  stacks: Stack[];
  heads: HeadFacts[];
  ranking: number[]; // places in heads, most interesting first
  look_at: (HeadName & { reason: string }) | null;
  rule: string;
}

export interface RecordingName {
  id: string;
  name: string;
  text: string;
  tokens: number;
  stays?: boolean; // false: recorded on request, so not listed
}

// How the recording was made; null: it cannot be made again.
export const recordRequestOf = (facts: Facts): RecordRequest | null => facts.origin ?? null;

// Whether it was opened from a file of the user's.
export const isOwnRecording = ({ id }: Facts): boolean => id.startsWith("file-");

export const keyOf = (head: HeadName): string => `${head.kind}/${head.layer}/${head.head}`;

export const sameHead = (a: HeadName, b: HeadName): boolean =>
  a.kind === b.kind && a.layer === b.layer && a.head === b.head;

export function stackOf(facts: Facts, kind: Kind): Stack {
  return facts.stacks.find((stack) => stack.kind === kind) ?? facts.stacks[0];
}

export const keysOf = (stack: Stack): Token[] => stack.key_tokens ?? stack.query_tokens;

// Columns that collect unused attention: the first key and special tokens.
export function sinkColumns(stack: Stack): number[] {
  return keysOf(stack).flatMap((token, j) => (j === 0 || token.special ? [j] : []));
}

// 0 to count - 1: numbers of layers or heads.
export const indices = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
