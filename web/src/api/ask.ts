// Questions to the program: plain ones, and long ones that say how far they are and end when nobody waits any more.

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly column?: number, // in a text that could not be read
  ) {
    super(message);
  }
}

export interface Progress {
  done: number;
  total: number;
  what: string;
}

// What the program tells before it has the answer, by name: "progress", "token".
export type Listeners = Record<string, (data: never) => void>;

export interface Question {
  body?: unknown; // asked by POST
  signal?: AbortSignal;
  on?: Listeners;
}

// The program that served the page has ended: an error of this message.
export const kGone = "gone";

async function sent(url: string, { body, signal }: Question, accept?: string): Promise<Response> {
  const headers: Record<string, string> = accept ? { Accept: accept } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(url, {
      signal,
      headers,
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Error(kGone, { cause: problem });
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => null);
  throw new Refused(said?.error ?? `${response.status} ${response.statusText}`, response.status, said?.column);
}

export const ask = (url: string, question: Question = {}): Promise<Response> => sent(url, question);

export async function askJson<T>(url: string, question: Question = {}): Promise<T> {
  return (await sent(url, question)).json();
}

// As askJson(), with `on` told what comes before the answer.
export async function follow<T>(url: string, question: Question): Promise<T> {
  const response = await sent(url, question, "text/event-stream");
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
      const { events, rest } = eventsOf(text);
      text = rest;
      for (const { name, data } of events) {
        if (name === "answer") {
          void heardOut(reader);
          return data as T;
        }
        if (name === "error") throw refusal(data as { error: string; status: number; column?: number });
        (question.on?.[name] as ((data: unknown) => void) | undefined)?.(data);
      }
    }
  } catch (problem) {
    void reader.cancel().catch(() => undefined);
    if (problem instanceof Refused || question.signal?.aborted) throw problem;
    throw new Error(kGone, { cause: problem });
  }
  throw new Error(kGone);
}

// Nothing comes behind an answer but the end, and a connection that was heard to its end can be used again.
async function heardOut(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    return;
  }
}

const refusal = ({ error, status, column }: { error: string; status: number; column?: number }): Refused =>
  new Refused(error, status, column);

interface Event {
  name: string;
  data: unknown;
}

// Whole events at the beginning of a stream's text, and what is left of it.
export function eventsOf(text: string): { events: Event[]; rest: string } {
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
