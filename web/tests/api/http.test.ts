import { afterEach, describe, expect, test, vi } from "vitest";
import { request, requestJson, parseEvents, requestStream, kServerGone, HttpError } from "../../src/api/http";
import type { HeadName } from "../../src/api/facts";
import { requestRecording } from "../../src/api/recordRequest";
import { LazySource } from "../../src/api/sources/lazySource";
import { ServedSource } from "../../src/api/sources/served";
import { FakeRecording } from "../fakeRecording";

afterEach(() => vi.unstubAllGlobals());

type Answering = (url: string, init: RequestInit) => Response | Promise<Response>;
const program = (answer: Answering) => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    asked.push(`${init.method ?? "GET"} ${url}`);
    return answer(url, init);
  });
  return asked;
};

const json = (value: unknown, status = 200) =>
  new Response(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });

const stream = (...parts: string[]) => {
  const bytes = new TextEncoder();
  const body = new ReadableStream({
    start(to) {
      for (const part of parts) to.enqueue(bytes.encode(part));
      to.close();
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
};

describe("an event stream", () => {
  test("is split at the ends of events, however it arrives", () => {
    const { events, rest } = parseEvents('event: progress\ndata: {"done":1}\n\nevent: token\ndata: {"te');
    expect(events).toEqual([{ name: "progress", data: { done: 1 } }]);
    expect(rest).toBe('event: token\ndata: {"te');
  });

  test("passes on events before the answer", async () => {
    program(() => stream("event: progress\nda", 'ta: {"done":1}\n\nevent: answer\ndata: {"id":"7"}\n', "\n"));
    const progress = vi.fn();
    expect(await requestStream("api/x", { on: { progress } })).toEqual({ id: "7" });
    expect(progress).toHaveBeenCalledWith({ done: 1 });
  });

  test("may end with an error, or without an answer", async () => {
    program(() => stream('event: error\ndata: {"error":"too long","status":413}\n\n'));
    await expect(requestStream("api/x", {})).rejects.toMatchObject({ message: "too long", status: 413 });
    program(() => stream('event: progress\ndata: {"done":1}\n\n'));
    await expect(requestStream("api/x", {})).rejects.toThrow(kServerGone);
  });

  test("may be plain JSON", async () => {
    program(() => json({ id: "3" }));
    expect(await requestRecording({ model: "m", text: "t" })).toBe("3");
  });
});

describe("a request", () => {
  test("reports why it was rejected, and that the server has ended", async () => {
    program(() => json({ error: "no such head", column: 4 }, 400));
    await expect(request("api/x")).rejects.toMatchObject({ message: "no such head", status: 400, column: 4 });
    await expect(request("api/x")).rejects.toBeInstanceOf(HttpError);
    program(() => Promise.reject(new TypeError("no network")));
    await expect(requestJson("api/x")).rejects.toThrow(kServerGone);
  });
});

const made = new FakeRecording("1", { name: "tiny", layers: 1, heads: 2, text: "a cat sat" });
const kHead: HeadName = { kind: "self", layer: 0, head: 1 };

describe("a recording that the server has dropped", () => {
  test("is recorded again from its request, once for all callers", async () => {
    const origin = { model: "tiny", text: "a cat sat" };
    let id = "1";
    const asked = program((url, init) => {
      if (init.method === "POST") return json({ id: (id = "2") });
      if (!url.includes(`recordings/${id}`) || (id === "1" && url.includes("/row")))
        return json({ error: "gone" }, 404);
      return url.includes("/row") ? new Response(new Float32Array([0.5, 0.5])) : json({ ...made.facts(), id, origin });
    });
    const source = await ServedSource.open("1", false);
    const rows = await Promise.all([source.row(kHead, 0), source.row(kHead, 1)]);
    expect(rows.map((row) => [...row])).toEqual([
      [0.5, 0.5],
      [0.5, 0.5],
    ]);
    expect(asked.filter((line) => line.startsWith("POST"))).toHaveLength(1);
    expect(source.facts.id).toBe("2");
  });

  test("fails if its request is unknown", async () => {
    program((url) => (url.includes("/row") ? json({ error: "no recording" }, 404) : json(made.facts())));
    const source = await ServedSource.open("1", false);
    await expect(source.row(kHead, 0)).rejects.toThrow("no recording");
  });
});

test("prefetches what was on the screen for the next recording, if it has that", async () => {
  vi.stubGlobal("window", globalThis);
  const shorter = new FakeRecording("2", { name: "tiny", layers: 1, heads: 2, text: "a" });
  const asked: number[] = [];
  const source = (of: FakeRecording) =>
    ({
      facts: of.facts(),
      has: () => true,
      row: async (_: HeadName, row: number) => {
        asked.push(row);
        return new Float32Array(of.size);
      },
    }) as never;
  const before = new LazySource(
    source(made),
    () => undefined,
    () => undefined,
  );
  before.row(kHead, 0);
  before.row(kHead, made.size - 1);
  const after = new LazySource(
    source(shorter),
    () => undefined,
    () => undefined,
  );
  await new Promise((done) => setTimeout(done));
  asked.length = 0;
  await after.prefetch(before, 1000);
  expect(asked).toEqual([0]);
  expect(after.row(kHead, 0)).toBeDefined();
});
