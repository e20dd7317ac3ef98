import { describe, expect, test, vi } from "vitest";
import { selectLines, largest } from "../../src/draw/lineSelection";
import { allDigits, formatCell, formatPercent, formatNumber } from "../../src/i18n/format";
import { gridWithList, ordered, sortedGrid, indexAt, layerGrid } from "../../src/draw/grid";
import { textDirection, visibleText } from "../../src/draw/tokenLabel";
import { Loader } from "../../src/api/sources/loader";
import { FakeRecording, random } from "../fakeRecording";

describe("lines", () => {
  const row = [0.2, 0.2, 0.05, 0.2, 0.3, 0.05];

  test("below the threshold are hidden and counted", () => {
    const beams = selectLines(row, { rule: "threshold", threshold: 0.1, top: 1 }, null);
    expect(beams.keys).toEqual([0, 1, 3, 4]);
    expect(beams.hidden).toBeCloseTo(0.1);
    expect(beams.mass).toBeCloseTo(1);
  });

  test("of the largest weights are drawn, ties from the left", () => {
    const beams = selectLines(row, { rule: "top", threshold: 0, top: 2 }, null);
    expect(beams.keys).toEqual([0, 4]);
    expect(beams.hidden).toBeCloseTo(0.5);
  });

  test("to filtered keys are neither drawn nor counted", () => {
    const beams = selectLines(row, { rule: "top", threshold: 0, top: 9 }, (j) => j < 3);
    expect(beams.keys).toEqual([0, 1, 2]);
    expect(beams.mass).toBeCloseTo(0.45);
    expect(beams.hidden).toBe(0);
  });

  test("a row of zeros has no lines", () => {
    expect(selectLines([0, 0], { rule: "threshold", threshold: 0, top: 1 }, null)).toEqual({
      keys: [],
      weights: [],
      mass: 0,
      hidden: 0,
    });
  });

  test("largest gives places, largest first", () => expect(largest(row, 3)).toEqual([4, 0, 1]));
});

describe("numbers", () => {
  test("are shown with three digits", () => {
    expect([0.8123, 0.08123, 0.008123, 1.2345, 12.345, 2048, 0, 1].map(formatNumber)).toEqual([
      "0.812",
      "0.0812",
      "0.00812",
      "1.23",
      "12.3",
      "2048",
      "0",
      "1.00",
    ]);
    expect(formatNumber(0.000081)).toBe("8.1e−5");
    expect([0.8123, 0, 0.0004, 1].map(formatCell)).toEqual([".812", "0", "<.001", "1.00"]);
    expect([0.12345, 0.0123, 0.00001, 0].map(formatPercent)).toEqual(["12%", "1.2%", "<0.1%", "0.0%"]);
  });

  test("are copied with digits that give back the same float", () => {
    const next = random(11);
    for (let i = 0; i < 1000; ++i) {
      const value = Math.fround(next() ** 8);
      expect(Math.fround(Number(allDigits(value)))).toBe(value);
    }
    expect(allDigits(Math.fround(0.1))).toBe("0.1");
  });
});

describe("tokens", () => {
  test.each([
    [" the", "·the"],
    ["a b", "a b"],
    ["\n", "\\n"],
    ["\u200b", "\\u200b"],
    ["\x1b", "\\x1b"],
    ["  ", "··"],
    ["👩‍🚀", "👩‍🚀"],
    ["\u200dx", "\\u200dx"],
  ])("%j is written %j", (text, written) => expect(visibleText(text)).toBe(written));

  test("Hebrew and Arabic go from the right, everything else from the left", () => {
    expect(["שלום", "مرحبا", "[SEP]", "今天", "🌳", "12"].map(textDirection)).toEqual([
      "rtl",
      "rtl",
      "ltr",
      "ltr",
      "ltr",
      "ltr",
    ]);
  });
});

describe("the overview", () => {
  const { heads, ranking } = new FakeRecording("1", { name: "m", layers: 3, heads: 5, text: "a b c" }).facts();

  test("finds every head where it is drawn", () => {
    for (const grid of [layerGrid(3, 5, { width: 600, height: 400 }), sortedGrid(15, { width: 360, height: 300 })]) {
      for (let place = 0; place < 15; ++place) {
        const x = grid.left + (place % grid.columns) * grid.pitchX + grid.cell / 2;
        const y = grid.top + Math.floor(place / grid.columns) * grid.pitchY + grid.cell / 2;
        expect(indexAt(grid, x, y, 15)).toBe(place);
      }
      expect(indexAt(grid, 2, 2, 15)).toBe(-1);
    }
  });

  test("places the list of heads beside the grid, else below, else shrinks the grid", () => {
    const wide = gridWithList(4, 4, { width: 912, height: 560 });
    expect(wide.list).toEqual({ beside: 912 - wide.grid.width });
    const high = gridWithList(2, 4, { width: 912, height: 560 });
    expect(high.grid).toEqual(layerGrid(2, 4, { width: 912, height: 560 }));
    expect(high.list).toEqual({ rows: 5, columns: 3 });
    const narrow = gridWithList(4, 4, { width: 576, height: 420 });
    expect(narrow.list).toEqual({ beside: 576 - narrow.grid.width });
    expect(narrow.grid.cell).toBeGreaterThanOrEqual(64);
    const many = gridWithList(12, 12, { width: 576, height: 420 });
    expect(many).toEqual({ grid: layerGrid(12, 12, { width: 576, height: 420 }), list: null });
  });

  test("orders by the program's ranking, by entropy, by distance", () => {
    expect(ordered(heads, ranking, "interest")[0]).toBe(heads[ranking[0]]);
    const entropies = ordered(heads, ranking, "entropy").map((head) => head.entropy);
    expect(entropies).toEqual([...entropies].sort((a, b) => a - b));
    const distances = ordered(heads, ranking, "distance").map((head) => head.distance);
    expect(distances).toEqual([...distances].sort((a, b) => b - a));
  });
});

describe("the loader", () => {
  const later = () => new Promise((done) => setTimeout(done, 5));

  test("requests once, reports the arrival and keeps the value", async () => {
    const changed = vi.fn();
    const load = vi.fn(async () => new Uint8Array(3));
    const loader = new Loader(changed, () => {});
    expect(loader.get("a", load)).toBeUndefined();
    expect(loader.get("a", load)).toBeUndefined();
    await later();
    expect(loader.get("a", load)).toHaveLength(3);
    expect(load).toHaveBeenCalledTimes(1);
    expect(changed).toHaveBeenCalledTimes(1);
  });

  test("evicts the least recently used entry", async () => {
    const loader = new Loader(
      () => {},
      () => {},
      250,
    );
    for (const key of ["a", "b"]) loader.get(key, async () => new Uint8Array(100));
    await later();
    loader.peek("a");
    loader.get("c", async () => new Uint8Array(100));
    await later();
    expect([loader.peek("a"), loader.peek("b"), loader.peek("c")].map((v) => v !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });

  test("aborts unwanted requests without reporting a failure", async () => {
    const failed = vi.fn();
    const loader = new Loader(() => {}, failed, 1000, 1);
    const asked: string[] = [];
    const load = (key: string) => (signal: AbortSignal) =>
      new Promise<Uint8Array>((_, no) => {
        asked.push(key);
        signal.addEventListener("abort", () => no(new Error("aborted")));
      });
    loader.get("tile/a", load("a"));
    await later();
    loader.get("tile/b", load("b"));
    loader.keepOnly("tile/", new Set());
    await later();
    expect(asked).toEqual(["a"]);
    expect(loader.waiting).toBe(false);
    expect(failed).not.toHaveBeenCalled();
  });

  test("reports a failure once and does not request again", async () => {
    const failed = vi.fn();
    const load = vi.fn(async () => Promise.reject(new Error("no")));
    const loader = new Loader(() => {}, failed);
    loader.get("a", load);
    await later();
    loader.get("a", load);
    await later();
    expect(failed).toHaveBeenCalledTimes(1);
    expect(load).toHaveBeenCalledTimes(1);
  });
});
