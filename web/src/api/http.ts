// Requests to the server: plain ones, and streams that report progress and can be aborted.
import { transport } from "./transport";

export class HttpError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly column?: number, // of the syntax error in a text
  ) {
    super(message);
  }
}

export interface Progress {
  done: number;
  total: number;
  what: string;
}

// Handlers of events before the answer, by name: "progress", "token".
export type Listeners = Record<string, (data: never) => void>;

export interface RequestOptions {
  body?: unknown; // makes it a POST
  signal?: AbortSignal;
  on?: Listeners;
}

// The message of the error when the server has ended.
export const kServerGone = "gone";

async function send(url: string, { body, signal }: RequestOptions, accept?: string): Promise<Response> {
  const what = body === undefined ? { method: "GET" } : { method: "POST", body: JSON.stringify(body) };
  let response: Response;
  try {
    response = await transport.send(url, { ...what, accept, signal });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Error(kServerGone, { cause: problem });
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  throw new HttpError(answer?.error ?? `${response.status} ${response.statusText}`, response.status, answer?.column);
}

export const request = (url: string, options: RequestOptions = {}): Promise<Response> => send(url, options);

export async function requestJson<T>(url: string, options: RequestOptions = {}): Promise<T> {
  return (await send(url, options)).json();
}

// Like requestJson(), and passes events before the answer to `on`.
export async function requestStream<T>(url: string, options: RequestOptions): Promise<T> {
  const response = await send(url, options, "text/event-stream");
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
      const { events, rest } = parseEvents(text);
      text = rest;
      for (const { name, data } of events) {
        if (name === "answer") {
          void drain(reader);
          return data as T;
        }
        if (name === "error") throw httpErrorOf(data as { error: string; status: number; column?: number });
        (options.on?.[name] as ((data: unknown) => void) | undefined)?.(data);
      }
    }
  } catch (problem) {
    void reader.cancel().catch(() => undefined);
    if (problem instanceof HttpError || options.signal?.aborted) throw problem;
    throw new Error(kServerGone, { cause: problem });
  }
  throw new Error(kServerGone);
}

// Reads to the end of the stream, so that the connection can be reused.
async function drain(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    return;
  }
}

const httpErrorOf = ({ error, status, column }: { error: string; status: number; column?: number }): HttpError =>
  new HttpError(error, status, column);

interface ServerEvent {
  name: string;
  data: unknown;
}

// Complete events at the start of a stream's text, and the rest of it.
export function parseEvents(text: string): { events: ServerEvent[]; rest: string } {
  const parts = text.split("\n\n");
  const rest = parts.pop()!;
  const events = parts.flatMap((part) => {
    const lines = part.split("\n");
    const field = (name: string) =>
      lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart());
    const data = field("data").join("\n");
    return data ? [{ name: field("event")[0] ?? "message", data: JSON.parse(data) as unknown }] : [];
  });
  return { events, rest };
}
