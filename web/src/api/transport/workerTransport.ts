// Requests as fetch() makes them, answered by attnscope.wasm in a Worker.
import PageWorker from "virtual:worker";
import type { AnswerHead } from "../../worker/host";
import { sentenceOf } from "../../i18n/surroundings";
import type { RecordRequest } from "../recordRequest";
import { isCoursePage } from "../routes";
import { carried, type Carried } from "./carried";
import { asPng, svgUrl } from "./figurePng";
import type { PutOptions, Transport, TransportRequest } from "./transport";
import { type Failure, type Job, WorkerQueue } from "./workerQueue";

const kFirstText = "The film was great and the actors were wonderful, but the ending was weak.";
// Most work on a small model is over by then. Work that reports progress is long; other work is worth more than what a
// new Worker would have to do again.
const kGrace = { long: 150, short: 1000 }; // ms
const kMostBytes = 2.4e9; // of weights: a module has 4 GB, and needs some for its work

const abortError = (): DOMException => new DOMException("The request was aborted.", "AbortError");

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

// The body of an answer: of its bytes, or a stream if they come in parts.
class Answering {
  private controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;

  constructor(
    private readonly resolve: (response: Response) => void,
    private readonly reject: (problem: Error) => void,
  ) {}

  part(head: AnswerHead | null, bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.controller && head) {
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({ start: (to) => void (this.controller = to) });
      this.resolve(new Response(body, head));
    }
    this.controller!.enqueue(bytes);
  }

  end(head: AnswerHead | null, bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.controller) return this.resolve(new Response(bytes, head!));
    this.controller.enqueue(bytes);
    this.controller.close();
  }

  fail(failure: Failure): void {
    const sentence = sentenceOf(failure);
    if (this.controller) this.controller.error(new Error(sentence));
    else this.resolve(new Response(JSON.stringify({ error: sentence }), { status: 500 }));
  }

  abort(): void {
    if (this.controller) this.controller.error(abortError());
    else this.reject(abortError());
  }
}

// The same as a stream of events, as src/server/http/server.cc writes them.
class Streaming {
  private controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  private head: AnswerHead | null = null;
  private body = "";
  readonly response: Response;

  constructor() {
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({ start: (to) => void (this.controller = to) });
    this.response = new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }

  event(name: string, json: string): void {
    this.controller.enqueue(encode(`event: ${name}\ndata: ${json.trimEnd()}\n\n`));
  }

  part(head: AnswerHead | null, bytes: Uint8Array<ArrayBuffer>): void {
    this.head ??= head;
    this.body += new TextDecoder().decode(bytes);
  }

  end(head: AnswerHead | null, bytes: Uint8Array<ArrayBuffer>): void {
    this.part(head, bytes);
    const { status } = this.head!;
    if (status === 200) this.event("answer", this.body);
    else this.event("error", JSON.stringify({ ...(JSON.parse(this.body) as object), status }));
    this.controller.close();
  }

  fail(failure: Failure): void {
    this.event("error", JSON.stringify({ error: sentenceOf(failure), status: 500 }));
    this.controller.close();
  }

  abort(): void {
    this.controller.error(abortError());
  }
}

// "api/recordings/1/row?kind=self" as the module takes it.
export function parsedUrl(url: string): { path: string; query: Record<string, string> } {
  const { pathname, searchParams } = new URL(url, "http://page/");
  return { path: decodeURIComponent(pathname), query: Object.fromEntries(searchParams) };
}

// The models whose files a request may read. Facts and tables are of a recording, whose model has been read.
function modelsFor(path: string, body: string, all: Carried): string[] {
  if (path === "/api/recordings" && body) return [(JSON.parse(body) as RecordRequest).model];
  return path.startsWith("/api/lessons/") ? all.packedModels : [];
}

export class WorkerTransport implements Transport {
  readonly mostBytes = kMostBytes;
  readonly first: RecordRequest;

  constructor(
    private readonly queue: WorkerQueue,
    private readonly carried: Carried,
    private readonly address: { search: string; hash: string },
  ) {
    const query = new URLSearchParams(address.search);
    const model = carried.models.includes("tiny-bert") ? "tiny-bert" : carried.models[0];
    this.first = { model: query.get("model") ?? model, text: query.get("text") ?? kFirstText, pair: query.get("pair") };
  }

  // Rejects with a StartError. The model that is needed first is unpacked meanwhile.
  async start(): Promise<void> {
    const { search, hash } = this.address;
    const model = new URLSearchParams(hash.slice(1)).get("model") ?? this.first.model;
    if (!isCoursePage({ pathname: "", search })) this.carried.modelFiles(model).catch(() => undefined);
    await this.queue.start();
  }

  send(url: string, options: TransportRequest): Promise<Response> {
    const svg = svgUrl(url);
    return svg ? this.answer(svg.url, options).then((response) => asPng(response, svg.dpi)) : this.answer(url, options);
  }

  async putFile(folder: string, name: string, file: Blob, { progress }: PutOptions = {}): Promise<void> {
    this.queue.addFiles([{ path: `/files/${folder}/${name}`, size: file.size, content: file }]);
    progress?.(file.size);
  }

  // The memory of a module never shrinks, so that only a new one gives back what an opened file has taken.
  dropFolder(folder: string): void {
    this.queue.removeFiles(`/files/${folder}/`);
    if (this.queue.replayed.delete(folder)) this.queue.restart();
  }

  private answer(url: string, { method, body = "", accept, signal }: TransportRequest): Promise<Response> {
    if (signal?.aborted) return Promise.reject(abortError());
    const { path, query } = parsedUrl(url);
    const events = accept === "text/event-stream";
    return new Promise((resolve, reject) => {
      const streaming = events ? new Streaming() : null;
      const answering = streaming ?? new Answering(resolve, reject);
      const job: Job = {
        request: { method, path, query, events },
        body,
        models: modelsFor(path, body, this.carried),
        grace: events ? kGrace.long : kGrace.short,
        onEvent: (name, json) => streaming?.event(name, json),
        onPart: (head, bytes) => answering.part(head, bytes),
        onEnd: (head, bytes) => {
          signal?.removeEventListener("abort", aborted);
          this.notice(job, bytes);
          answering.end(head, bytes);
        },
        onFailure: (failure) => {
          signal?.removeEventListener("abort", aborted);
          answering.fail(failure);
        },
      };
      const aborted = () => {
        this.queue.abandon(job);
        answering.abort();
      };
      signal?.addEventListener("abort", aborted, { once: true });
      this.queue.add(job);
      if (streaming) resolve(streaming.response);
    });
  }

  // What a Worker started anew must know: numbers of recordings, and files that were opened.
  private notice({ request: { method, path, query }, body }: Job, answer: Uint8Array): void {
    if (method !== "POST") return;
    const [, folder] = /^\/api\/files\/([^/]+)\/open$/.exec(path) ?? [];
    if (!folder && path !== "/api/recordings") return;
    const said = new TextDecoder().decode(answer);
    const [, id] = /"id":\s*"(\d+)"/.exec(said) ?? [];
    if (id) this.queue.firstId = Math.max(this.queue.firstId, Number(id) + 1);
    if (folder && !said.includes('"error"'))
      this.queue.replayed.set(folder, { request: { method, path, query, events: false }, body });
  }
}

export function workerTransport(): WorkerTransport {
  const all = carried();
  return new WorkerTransport(new WorkerQueue(() => new PageWorker(), all), all, location);
}
