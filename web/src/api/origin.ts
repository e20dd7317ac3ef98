// How a specimen is made: by which model, from which text, and under which conditions. The address holds it, so that
// what the program has let go can be made again.
import { follow, type Listeners } from "./ask";
import type { HeadName } from "./facts";
import type { Place } from "../state/place";

export interface Generate {
  tokens: number;
  temperature: number;
  top_k: number;
  top_p: number;
  seed: number;
}

// The words of the program's JSON.
export interface Origin {
  model: string;
  text: string;
  pair?: string | null;
  target?: string | null;
  mask?: string | null;
  off?: HeadName[];
  generate?: Generate | null;
}

export function generateOf(text: string): Generate | null {
  const [tokens, temperature, top_k, top_p, seed] = text.split(",").map(Number);
  return text ? { tokens, temperature, top_k, top_p, seed } : null;
}

export const generateText = (how: Generate | null | undefined): string =>
  how ? [how.tokens, how.temperature, how.top_k, how.top_p, how.seed].join(",") : "";

type OfSpecimen = Pick<Place, "model" | "text" | "pair" | "target" | "mask" | "off" | "generate">;

export const ofSpecimen = ({ model, text, pair, target, mask, off, generate }: OfSpecimen): OfSpecimen => ({
  model,
  text,
  pair,
  target,
  mask,
  off,
  generate,
});

// What the address asks for; null: what the program was started with.
export function originAt(place: OfSpecimen): Origin | null {
  if (!place.model) return null;
  const { model, text, pair, target, mask, off, generate } = place;
  return compact({ model, text, pair, target, mask, off, generate: generateOf(generate) });
}

// The other way round.
export const placeOf = (origin: Origin): OfSpecimen => ({
  model: origin.model,
  text: origin.text,
  pair: origin.pair ?? "",
  target: origin.target ?? "",
  mask: origin.mask ?? "",
  off: origin.off ?? [],
  generate: generateText(origin.generate),
});

// Without what is empty, and its members always in the same order: the same specimen gives the same text.
export function compact({ model, text, pair, target, mask, off, generate }: Origin): Origin {
  const origin: Origin = { model, text };
  if (pair) origin.pair = pair;
  if (target) origin.target = target;
  if (mask) origin.mask = mask;
  if (off?.length) origin.off = off.map(({ kind, layer, head }) => ({ kind, layer, head }));
  if (generate) origin.generate = generate;
  return origin;
}

export const sameOrigin = (a: Origin | null, b: Origin | null): boolean =>
  JSON.stringify(a && compact(a)) === JSON.stringify(b && compact(b));

// Another specimen is looked at, or the same between words.
export const isOther = (before: Place, after: Place): boolean =>
  before.words !== after.words || !sameOrigin(originAt(before), originAt(after));

// Its id. The same origin gives the same one, for as long as the program keeps it.
export async function make(origin: Origin, signal?: AbortSignal, on?: Listeners): Promise<string> {
  return (await follow<{ id: string }>("api/specimens", { body: compact(origin), signal, on })).id;
}
