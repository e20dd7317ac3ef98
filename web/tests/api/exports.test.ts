import { afterEach, describe, expect, test, vi } from "vitest";
import { commandOf } from "../../src/state/commandLine";
import { EmbeddedSource, unpack } from "../../src/api/sources/embedded";
import { csvOf, availableExports, fileName, figureQuery, download } from "../../src/api/exports";
import { formatBytes } from "../../src/i18n/format";
import type { Facts } from "../../src/api/facts";
import { blankPicture, errorColumn, parsePicture, searchBody, similarities } from "../../src/api/headSearch";
import { maskTable } from "../../src/input/maskEditing";
import { unavailableReason, availableMeasure } from "../../src/api/measure";
import { withPinnedCell, fromHash, kDefaultState, toHash } from "../../src/state/urlState";
import { ServedSource } from "../../src/api/sources/served";
import { SourceCache } from "../../src/api/sources/sourceCache";
import { FakeRecording } from "../fakeRecording";

const made = new FakeRecording("1", { name: "made-up", layers: 2, heads: 3, text: "The cat , it 's here ." });
const facts: Facts = { ...made.facts(), measures: ["raw", "value", "rollout"] };
const raw = { measure: "raw", withoutSinks: false };

afterEach(() => vi.unstubAllGlobals());

describe("exports", () => {
  test("are the figure of the view, the head's table, the recording and the page in its current state", () => {
    const place = { ...kDefaultState, view: "matrix" as const, layer: 1, head: 2, row: 3, column: 1, words: true };
    const all = availableExports({ ...facts, bytes: 4321 }, place, { measure: "value", withoutSinks: false });
    expect(all.map(({ name }) => name)).toEqual(["png", "svg", "csv", "npy", "recording", "page"]);
    const [png, , csv, npy, recording, page] = all;
    const of = { kind: "self", layer: 1, head: 2, measure: "value", words: 1 };
    expect(png.query).toEqual({ ...of, view: "heatmap", format: "png", map: "viridis", dpi: 150 });
    expect(csv.query).toEqual({ ...of, format: "csv" });
    expect(npy.bytes).toBe(128 + 4 * made.size ** 2);
    expect(recording.bytes).toBe(4321);
    expect(fromHash(String(page.query.state))).toEqual(place);
  });

  test("a figure of lines has the shown heads; a trace has no figure", () => {
    const lines = { ...kDefaultState, view: "heads" as const, layer: 1, head: 2, others: [{ layer: 1, head: 0 }] };
    expect(figureQuery(lines, { measure: "raw", withoutSinks: true }, "svg")).toEqual({
      view: "headview",
      format: "svg",
      kind: "self",
      aside: 1,
      threshold: 0.02,
      layer: 1,
      heads: "2,0",
    });
    expect(figureQuery({ ...kDefaultState, view: "trace" }, raw, "png")).toBeNull();
    const names = availableExports({ ...facts, model: null }, { ...kDefaultState, view: "trace" }, raw).map(
      ({ name }) => name,
    );
    expect(names).toEqual(["csv", "npy", "page"]);
  });

  test("an offline page writes tables as the server does", async () => {
    const source = new EmbeddedSource(await unpack(made.embedded(16)));
    const lines = (await csvOf(source, { kind: "self", layer: 1, head: 2 })).split("\n");
    expect(lines[0].startsWith(',[CLS],The,cat,",",')).toBe(true);
    expect(lines).toHaveLength(made.size + 2);
    const numbers = lines[2].split(",").slice(1).map(Number);
    made.row(1, 2, 1).forEach((weight, j) => expect(Math.abs(numbers[j] - weight)).toBeLessThan(4e-5));
  });

  test("formats sizes and reads file names", async () => {
    expect([0, 999, 1420, 56_789_000].map(formatBytes)).toEqual(["0 B", "999 B", "1.42 kB", "56.8 MB"]);
    expect(fileName('attachment; filename="tiny-bert-layer1.png"', "x")).toBe("tiny-bert-layer1.png");
    expect(fileName(null, "x.csv")).toBe("x.csv");
    const told: number[] = [];
    const blob = await download(new Response("12345"), (bytes) => told.push(bytes));
    expect([blob.size, told.at(-1)]).toEqual([5, 5]);
  });
});

describe("measures", () => {
  test("unavailable ones have a reason, and weights are shown instead", () => {
    const [stack] = facts.stacks;
    expect(unavailableReason("rollout", facts, stack)).toBe("");
    expect(unavailableReason("rollout", facts, { ...stack, kind: "cross" })).toBe("self");
    expect(unavailableReason("rollout", { ...facts, measures: ["raw"] }, { ...stack, queries: 600 })).toBe("long");
    expect(unavailableReason("value", { ...facts, measures: ["raw"] }, stack)).toBe("recorded");
    expect(unavailableReason("raw", { ...facts, measures: undefined }, stack)).toBe("");
    expect(availableMeasure("value", { ...facts, measures: ["raw"] }, stack)).toBe("raw");
  });

  test("requests name the measure, and tiles keep the scale of their bytes", async () => {
    const asked: string[] = [];
    const answer = (url: string) => {
      asked.push(url);
      if (/tile/.test(url))
        return new Response(new Uint8Array(4), { headers: { "X-Shape": "2,2", "X-Scale": "3.25" } });
      if (/row|column/.test(url)) return new Response(new Float32Array(3));
      if (/profile/.test(url)) return Response.json({ download: [], entropy: [] });
      return Response.json(facts);
    };
    vi.stubGlobal("fetch", async (url: string) => answer(url));
    const whole = await ServedSource.open("1", false);
    const shelf = new SourceCache(
      () => undefined,
      () => undefined,
    );
    expect(shelf.withMeasure(whole, "raw", false)).toBe(whole);
    const value = shelf.withMeasure(whole, "value", false);
    expect(shelf.withMeasure(whole, "value", false)).toBe(value);
    const head = { kind: "self" as const, layer: 1, head: 2 };
    expect((await value.tile(head, { level: 0, row: 0, column: 0 })).scale).toBe(3.25);
    await value.row(head, 1);
    const aside = shelf.withMeasure(whole, "raw", true);
    await Promise.all([aside.column(head, 1), aside.profile(head)]);
    expect(asked.slice(2)).toEqual([
      "api/specimens/1/tile?kind=self&layer=1&head=2&level=0&row=0&column=0&measure=value",
      "api/specimens/1/row?kind=self&layer=1&head=2&row=1&measure=value",
      "api/specimens/1/column?kind=self&layer=1&head=2&column=1&aside=1",
      "api/specimens/1/profile?kind=self&layer=1&head=2&aside=1",
    ]);
  });
});

describe("a search for heads", () => {
  test("keeps a painted picture in the URL and sends it as numbers", () => {
    const text = "table(100,010,001)";
    expect(maskTable(parsePicture(text)!)).toBe(text);
    expect(fromHash(toHash({ ...kDefaultState, pattern: text })).pattern).toBe(text);
    expect(searchBody("table(10,01)", "self")).toEqual({
      picture: [
        [1, 0],
        [0, 1],
      ],
      kind: "self",
    });
    expect(searchBody("causal & window(2)", "cross")).toEqual({ pattern: "causal & window(2)", kind: "cross" });
    for (const other of ["table(10,1)", "table(12)", "table()", "previous"]) expect(parsePicture(other)).toBeNull();
    expect(blankPicture().bytes.every((b) => b === 0)).toBe(true);
  });

  test("maps similarities to heads, and errors to columns", () => {
    const heads = [{ kind: "self" as const, layer: 1, head: 0, similarity: 0.75 }];
    expect(similarities({ pattern: "same", heads }).get("self/1/0")).toBe(0.75);
    expect(errorColumn({ message: "mask: column 10: unknown name 'windw'" })).toBe(10);
    expect(errorColumn({ message: "x", column: 3 })).toBe(3);
    expect(errorColumn({ message: "nothing" })).toBeNull();
  });
});

describe("command lines", () => {
  const text = "--model made-up --text 'The cat , it '\\''s here .'";

  test("exist for trace, measures, hidden sinks and searches", () => {
    const matrix = { ...kDefaultState, view: "matrix" as const, layer: 1, head: 2, row: 3, column: 1 };
    expect(commandOf(facts, { ...matrix, view: "trace" })).toBe(
      `attnscope trace ${text} --layer 1 --head 2 --query 3 --key 1`,
    );
    expect(commandOf(facts, { ...matrix, measure: "value", withoutSinks: true })).toBe(
      `attnscope heatmap ${text} --measure value --layer 1 --head 2`,
    );
    expect(commandOf(facts, { ...matrix, withoutSinks: true })).toContain("heatmap " + text + " --aside --layer 1");
    expect(commandOf(facts, { ...matrix, measure: "rollout" })).toBe(
      `attnscope rollout ${text} --layer 1 --scale sqrt`,
    );
    expect(commandOf(facts, { ...kDefaultState, withoutSinks: true })).toBe(`attnscope overview ${text}`);
    expect(commandOf(facts, { ...kDefaultState, pattern: "causal & window(2)" })).toBe(
      `attnscope find ${text} 'causal & window(2)'`,
    );
  });

  test("do not exist for what only the page can show", () => {
    expect(commandOf(facts, { ...kDefaultState, view: "trace" })).toBeNull();
    expect(commandOf(facts, { ...kDefaultState, view: "trace", row: 1, column: 1, words: true })).toBeNull();
    expect(commandOf(facts, { ...kDefaultState, pattern: "table(10,01)" })).toBeNull();
  });
});

test("the pinned token stays from the head view to the matrix", () => {
  const lines = { ...kDefaultState, view: "heads" as const, pins: [4] };
  expect(withPinnedCell(lines, { view: "matrix" })).toEqual({ row: 4 });
  expect(withPinnedCell({ ...lines, side: "key" }, { view: "matrix" })).toEqual({ column: 4 });
  expect(withPinnedCell({ ...lines, pins: [4, 5] }, { view: "matrix" })).toEqual({});
  expect(withPinnedCell({ ...lines, row: 1, column: 2 }, { view: "matrix" })).toEqual({});
  expect(withPinnedCell(lines, { head: 3 })).toEqual({});
});
