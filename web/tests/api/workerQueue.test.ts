import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Carried } from "../../src/api/transport/carried";
import { type Failure, WorkerQueue } from "../../src/api/transport/workerQueue";
import { parsedUrl, WorkerTransport } from "../../src/api/transport/workerTransport";
import { requestJson, requestStream } from "../../src/api/http";
import type { FromWorker, ToWorker } from "../../src/worker/messages";

type Request = Extract<ToWorker, { type: "request" }>;

// A Worker that starts by itself and answers what `answer` says; undefined: it goes on computing.
class FakeWorker {
  static all: FakeWorker[] = [];
  static answer: (request: Request, worker: FakeWorker) => unknown = () => ({});
  static starts = true;
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: ((event: { message: string }) => void) | null = null;
  received: ToWorker[] = [];
  ended = false;

  constructor() {
    FakeWorker.all.push(this);
  }

  postMessage(message: ToWorker): void {
    this.received.push(message);
    queueMicrotask(() => {
      if (message.type === "start" && FakeWorker.starts) this.say({ type: "started" });
      if (message.type !== "request") return;
      const body = FakeWorker.answer(message, this);
      if (body !== undefined) this.end(message.id, body);
    });
  }

  say(message: FromWorker): void {
    if (!this.ended) this.onmessage?.({ data: message });
  }

  end(id: number, body: unknown, status = 200): void {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    this.say({ type: "end", id, head: { status, headers: [["Content-Type", "application/json"]] }, bytes });
  }

  terminate(): void {
    this.ended = true;
  }

  get paths(): string[] {
    return this.received.flatMap((one) => (one.type === "request" ? [one.request.path] : []));
  }
}

const carriedFiles = (models = ["tiny-bert", "tiny-gpt"]): Carried & { asked: string[] } => ({
  models,
  packedModels: models,
  asked: [],
  module: async () => ({}) as WebAssembly.Module,
  files: async () => [{ path: "/small", size: 0, content: new Uint8Array() }],
  async modelFiles(name) {
    this.asked.push(name);
    return [{ path: `/models/${name}/model.safetensors`, size: 0, content: new Uint8Array() }];
  },
});

function made(carried = carriedFiles()) {
  const queue = new WorkerQueue(() => new FakeWorker() as unknown as Worker, carried);
  return { queue, transport: new WorkerTransport(queue, carried, { search: "", hash: "" }) };
}

const get = (transport: WorkerTransport, url: string, signal?: AbortSignal) =>
  transport.send(url, { method: "GET", signal });
const stream = (transport: WorkerTransport, url: string, signal?: AbortSignal) =>
  transport.send(url, { method: "GET", accept: "text/event-stream", signal });

beforeEach(() => {
  FakeWorker.all = [];
  FakeWorker.answer = ({ request }) => ({ path: request.path });
  FakeWorker.starts = true;
  vi.useFakeTimers();
  vi.stubGlobal("navigator", { language: "en" });
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("a URL is taken apart as the server does it", () => {
  expect(parsedUrl("api/recordings/a%20b/row?text=1%2B1&x=%C3%A9")).toEqual({
    path: "/api/recordings/a b/row",
    query: { text: "1+1", x: "é" },
  });
});

describe("an answer", () => {
  test("is a response with its status, headers and body", async () => {
    const { transport } = made();
    const response = await get(transport, "api/models");
    expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toEqual({ path: "/api/models" });
  });

  test("that is long is a stream", async () => {
    const { transport } = made();
    FakeWorker.answer = ({ id }, worker) => {
      const part = (text: string) => new TextEncoder().encode(text);
      worker.say({ type: "part", id, head: { status: 200, headers: [["X-A", "1"]] }, bytes: part("one ") });
      worker.say({ type: "part", id, head: null, bytes: part("two ") });
      worker.say({ type: "end", id, head: null, bytes: part("three") });
    };
    const response = await get(transport, "api/x");
    expect(response.headers.get("X-A")).toBe("1");
    expect(await response.text()).toBe("one two three");
  });

  test("with events is what the server writes", async () => {
    const { transport } = made();
    FakeWorker.answer = ({ id, request }, worker) => {
      expect(request.events).toBe(true);
      worker.say({ type: "event", id, name: "progress", json: '{"done":1}\n' });
      return { id: "7" };
    };
    expect(await (await stream(transport, "api/x")).text()).toBe(
      'event: progress\ndata: {"done":1}\n\nevent: answer\ndata: {"id":"7"}\n\n',
    );
    FakeWorker.answer = ({ id }, worker) => worker.end(id, { error: "too long" }, 413);
    expect(await (await stream(transport, "api/x")).text()).toBe(
      'event: error\ndata: {"error":"too long","status":413}\n\n',
    );
  });
});

describe("models", () => {
  test("are unpacked before a request needs them, each once", async () => {
    const carried = carriedFiles();
    const { transport } = made(carried);
    await get(transport, "api/models");
    expect(carried.asked).toEqual([]);
    for (let i = 0; i < 2; ++i)
      await transport.send("api/recordings", { method: "POST", body: '{"model":"tiny-gpt","text":"a"}' });
    expect(carried.asked).toEqual(["tiny-gpt"]);
    await get(transport, "api/lessons/bert");
    expect(carried.asked).toEqual(["tiny-gpt", "tiny-bert"]);
    const files = FakeWorker.all[0].received.flatMap((one) => ("files" in one ? one.files.map((f) => f.path) : []));
    expect(files).toEqual(["/small", "/models/tiny-gpt/model.safetensors", "/models/tiny-bert/model.safetensors"]);
  });

  test("are unpacked while nothing else is asked for", async () => {
    const carried = carriedFiles();
    const { transport } = made(carried);
    await get(transport, "api/models");
    await vi.advanceTimersByTimeAsync(2000);
    expect(carried.asked).toEqual(["tiny-bert", "tiny-gpt"]);
  });
});

describe("a request that is aborted", () => {
  test("is not sent if it has not begun", async () => {
    const { transport } = made();
    FakeWorker.answer = ({ request }) => (request.path === "/api/slow" ? undefined : {});
    const slow = get(transport, "api/slow");
    const stop = new AbortController();
    const waiting = get(transport, "api/waiting", stop.signal);
    const after = get(transport, "api/after");
    await vi.advanceTimersByTimeAsync(10);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    FakeWorker.all[0].end(1, {});
    await Promise.all([slow, after]);
    expect(FakeWorker.all).toHaveLength(1);
    expect(FakeWorker.all[0].paths).toEqual(["/api/slow", "/api/after"]);
  });

  test("may end within its grace, without harm", async () => {
    const { transport } = made();
    FakeWorker.answer = () => undefined;
    const stop = new AbortController();
    const response = await stream(transport, "api/slow", stop.signal);
    await vi.advanceTimersByTimeAsync(10);
    stop.abort();
    await expect(response.text()).rejects.toMatchObject({ name: "AbortError" });
    FakeWorker.all[0].end(1, {});
    await vi.advanceTimersByTimeAsync(1000);
    expect(FakeWorker.all).toHaveLength(1);
  });

  test("ends the Worker if it goes on, and the others go on with another one", async () => {
    const { transport, queue } = made();
    FakeWorker.answer = ({ request }) => (request.path === "/api/slow" ? undefined : { id: "41" });
    await transport.send("api/recordings", { method: "POST", body: '{"model":"tiny-bert","text":"a"}' });
    await transport.putFile("1", "x.npy", new Blob(["x"]));
    await transport.send("api/files/1/open", { method: "POST", body: "{}" });
    const stop = new AbortController();
    const slow = await stream(transport, "api/slow", stop.signal);
    const other = get(transport, "api/other");
    await vi.advanceTimersByTimeAsync(10);
    stop.abort();
    await expect(slow.text()).rejects.toMatchObject({ name: "AbortError" });
    await vi.advanceTimersByTimeAsync(140);
    expect(FakeWorker.all).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(20);
    expect(await (await other).json()).toEqual({ id: "41" });
    const [first, second] = FakeWorker.all;
    expect(first.ended).toBe(true);
    const start = second.received[0] as Extract<ToWorker, { type: "start" }>;
    expect(start.options.first_id).toBe(42);
    expect(start.files.map(({ path }) => path)).toEqual([
      "/small",
      "/models/tiny-bert/model.safetensors",
      "/files/1/x.npy",
    ]);
    expect(second.paths).toEqual(["/api/files/1/open", "/api/other"]);
    transport.dropFolder("1");
    expect(second.ended).toBe(true);
    await queue.start();
    expect(FakeWorker.all[2].paths).toEqual([]);
  });
});

describe("a crash", () => {
  test.each<[Partial<Extract<FromWorker, { type: "crashed" }>>, RegExp]>([
    [{ outOfMemory: false }, /crashed and was started anew/],
    [{ outOfMemory: true }, /more memory/],
  ])("fails its request with a sentence, and the next one works (%j)", async (how, sentence) => {
    const { transport } = made();
    FakeWorker.answer = ({ id, request }, worker) => {
      if (request.path !== "/api/bad") return {};
      worker.say({ type: "crashed", id, outOfMemory: false, message: "unreachable", ...how });
    };
    const [bad, good] = await Promise.all([get(transport, "api/bad"), get(transport, "api/good")]);
    expect(bad.status).toBe(500);
    expect(((await bad.json()) as { error: string }).error).toMatch(sentence);
    expect(good.status).toBe(200);
    expect(await (await stream(transport, "api/bad")).text()).toMatch(/^event: error\ndata: .*"status":500/);
    expect(FakeWorker.all.map(({ ended }) => ended)).toEqual([true, true]);
  });

  test("is also an answer without memory for more", async () => {
    const { transport } = made();
    FakeWorker.answer = ({ id }, worker) => worker.end(id, { error: "out of memory" }, 500);
    expect(((await (await get(transport, "api/x")).json()) as { error: string }).error).toMatch(/more memory/);
    expect(FakeWorker.all[0].ended).toBe(true);
  });
});

describe("a Worker that does not start", () => {
  const failureOf = (start: Promise<void>): Promise<Failure> =>
    start.then(
      () => "crashed" as const,
      (problem: { failure: Failure }) => problem.failure,
    );

  test("says why, and the next request tries again", async () => {
    FakeWorker.starts = false;
    const { queue, transport } = made();
    const failure = failureOf(queue.start());
    await vi.advanceTimersByTimeAsync(1);
    FakeWorker.all[0].onerror!({ message: "policy" });
    expect(await failure).toBe("noWorker");
    FakeWorker.starts = true;
    expect((await get(transport, "api/x")).status).toBe(200);
  });

  test("fails requests with a sentence", async () => {
    const carried = carriedFiles();
    carried.module = () => Promise.reject(new TypeError("no wasm"));
    const { queue, transport } = made(carried);
    expect(await failureOf(queue.start())).toBe("noModule");
    expect(await (await get(transport, "api/x")).json()).toEqual({
      error: expect.stringContaining("cannot be started") as string,
    });
  });
});

test("requests of the page go over HTTP where there is a server", async () => {
  const fetched = vi.fn(async (..._: unknown[]) => new Response('{"a":1}'));
  vi.stubGlobal("fetch", fetched);
  expect(await requestJson("api/x")).toEqual({ a: 1 });
  await requestStream("api/y", { body: { b: 2 } });
  expect(fetched.mock.calls).toEqual([
    ["api/x", { signal: undefined, headers: {} }],
    [
      "api/y",
      {
        signal: undefined,
        headers: { Accept: "text/event-stream", "Content-Type": "application/json" },
        method: "POST",
        body: '{"b":2}',
      },
    ],
  ]);
});
