import { afterEach, describe, expect, test, vi } from "vitest";
import { EmbeddedSource, unpack } from "../../src/api/sources/embedded";
import { csvOf, availableExports, fileName, figureQuery, download } from "../../src/api/exports";
import { formatBytes } from "../../src/i18n/format";
import type { Facts } from "../../src/api/facts";
import { fromHash, kDefaultState } from "../../src/state/urlState";
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
      without_sinks: 1,
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
