// How a specimen is made: by which model, from which text, and under which conditions. The address holds it, so that
// what the program has let go can be made again.
import { requestStream, type Listeners } from "./http";
import type { HeadName } from "./facts";
import { recordingsUrl } from "./routes";
import type { UrlState } from "../state/urlState";

export interface GenerateOptions {
  tokens: number;
  temperature: number;
  top_k: number;
  top_p: number;
  seed: number;
}

// The words of the program's JSON.
export interface RecordRequest {
  model: string;
  text: string;
  pair?: string | null;
  target?: string | null;
  mask?: string | null;
  off?: HeadName[];
  generate?: GenerateOptions | null;
}

export function parseGenerate(text: string): GenerateOptions | null {
  const [tokens, temperature, top_k, top_p, seed] = text.split(",").map(Number);
  return text ? { tokens, temperature, top_k, top_p, seed } : null;
}

export const formatGenerate = (how: GenerateOptions | null | undefined): string =>
  how ? [how.tokens, how.temperature, how.top_k, how.top_p, how.seed].join(",") : "";

type RequestState = Pick<UrlState, "model" | "text" | "pair" | "target" | "mask" | "off" | "generate">;

export const requestState = ({ model, text, pair, target, mask, off, generate }: RequestState): RequestState => ({
  model,
  text,
  pair,
  target,
  mask,
  off,
  generate,
});

// What the address asks for; null: what the program was started with.
export function requestAt(state: RequestState): RecordRequest | null {
  if (!state.model) return null;
  const { model, text, pair, target, mask, off, generate } = state;
  return compact({ model, text, pair, target, mask, off, generate: parseGenerate(generate) });
}

// The other way round.
export const stateOfRequest = (request: RecordRequest): RequestState => ({
  model: request.model,
  text: request.text,
  pair: request.pair ?? "",
  target: request.target ?? "",
  mask: request.mask ?? "",
  off: request.off ?? [],
  generate: formatGenerate(request.generate),
});

// Without what is empty, and its members always in the same order: the same specimen gives the same text.
export function compact({ model, text, pair, target, mask, off, generate }: RecordRequest): RecordRequest {
  const request: RecordRequest = { model, text };
  if (pair) request.pair = pair;
  if (target) request.target = target;
  if (mask) request.mask = mask;
  if (off?.length) request.off = off.map(({ kind, layer, head }) => ({ kind, layer, head }));
  if (generate) request.generate = generate;
  return request;
}

export const sameRequest = (a: RecordRequest | null, b: RecordRequest | null): boolean =>
  JSON.stringify(a && compact(a)) === JSON.stringify(b && compact(b));

// Another specimen is looked at, or the same between words.
export const isOtherRecording = (before: UrlState, after: UrlState): boolean =>
  before.words !== after.words || !sameRequest(requestAt(before), requestAt(after));

// Its id. The same request gives the same one, for as long as the program keeps it.
export async function requestRecording(request: RecordRequest, signal?: AbortSignal, on?: Listeners): Promise<string> {
  return (await requestStream<{ id: string }>(recordingsUrl(), { body: compact(request), signal, on })).id;
}
