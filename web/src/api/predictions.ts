// Predictions of a model at some tokens; members are named as in the server's JSON.
import type { Choice, Facts, HeadName, Stack, Token } from "./facts";

export interface ComparedChoice extends Choice {
  before?: number; // the probability before the change
}

export interface PredictedPosition {
  token: number;
  text: string;
  entropy: number;
  choices: ComparedChoice[];
  kl?: number;
  against?: Choice[];
}

export interface Label {
  label: string;
  probability: number;
  before?: number;
}

export interface Predictions {
  what: "gaps" | "next" | "tokens" | "target";
  temperature: number;
  places: PredictedPosition[];
  labels: Label[] | null;
  kl?: number | null;
}

export interface Effects {
  what: string;
  places: number[];
  heads: (HeadName & { kl: number; likeliest: string[] })[];
}

export const kGap = "[MASK]"; // accepted for every model, whatever its own mask token
export const kGaps = /\[MASK\]|<mask>/g;

export const isGap = (token: Token): boolean => token.special && token.text.replace(kGaps, "") === "";

// The tokens with predictions: the decoder's, else the text.
export function outputStack(facts: Facts): Stack {
  return facts.stacks.find(({ kind }) => kind === "decoder") ?? facts.stacks[0];
}

// The token to predict; null: the server's choice, [MASK] tokens or the next token.
export function predictedToken(facts: Facts, row: number | null): number | null {
  const { query_tokens: tokens } = outputStack(facts);
  const there = row !== null && row < tokens.length ? row : null;
  const form = facts.model?.form;
  if (form === "decoder") return there === tokens.length - 1 ? null : there;
  if (form === "encoder-decoder") return there ?? tokens.length - 1;
  if (there !== null) return isGap(tokens[there]) ? null : there;
  if (tokens.some(isGap)) return null;
  const first = tokens.findIndex((token) => !token.special);
  return first < 0 ? 0 : first;
}

// The index among the gaps of the gap at this token.
export const gapAt = (tokens: Token[], token: number): number => tokens.slice(0, token).filter(isGap).length;

// A slider of temperatures: 0 to 1 is kLeast to kMost, logarithmic.
export const kLeast = 0.05;
export const kMost = 5;
export const temperatureOfSlider = (at: number): number => Number((kLeast * (kMost / kLeast) ** at).toPrecision(2));
export const sliderOfTemperature = (temperature: number): number =>
  Math.log(temperature / kLeast) / Math.log(kMost / kLeast);

// The remaining probability of all other tokens.
export const restOf = (choices: { probability: number }[]): number =>
  Math.max(0, 1 - choices.reduce((sum, { probability }) => sum + probability, 0));

// The range of tokens in the DOM: at most `most`, including `at`.
export function visibleRange(first: number, count: number, at: number | null, most: number): [number, number] {
  let from = Math.min(Math.max(first, 0), Math.max(0, count - most));
  if (at !== null && (at < from || at >= from + most)) from = Math.max(0, Math.min(at - (most >> 1), count - most));
  return [from, Math.min(count, from + most)];
}
