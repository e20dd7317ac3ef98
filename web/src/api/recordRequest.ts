// How a recording is made: the model, the text and the conditions. The URL holds the request, so that the
// server can repeat it after it has dropped the recording.
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

// Members are named as in the server's JSON.
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

// The request in the URL; null: show the recording that the server was started with.
export function requestAt(state: RequestState): RecordRequest | null {
  if (!state.model) return null;
  const { model, text, pair, target, mask, off, generate } = state;
  return compact({ model, text, pair, target, mask, off, generate: parseGenerate(generate) });
}

// The inverse of requestAt().
export const stateOfRequest = (request: RecordRequest): RequestState => ({
  model: request.model,
  text: request.text,
  pair: request.pair ?? "",
  target: request.target ?? "",
  mask: request.mask ?? "",
  off: request.off ?? [],
  generate: formatGenerate(request.generate),
});

// Leaves out empty members and fixes the order, so that equal requests have equal JSON.
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

// Whether another recording is needed, or the same one with words merged.
export const isOtherRecording = (before: UrlState, after: UrlState): boolean =>
  before.words !== after.words || !sameRequest(requestAt(before), requestAt(after));

// Returns the id of the recording. Equal requests give the same id while the server keeps it.
export async function requestRecording(request: RecordRequest, signal?: AbortSignal, on?: Listeners): Promise<string> {
  return (await requestStream<{ id: string }>(recordingsUrl(), { body: compact(request), signal, on })).id;
}
