import { describe, expect, it } from "vitest";
import { emptyRows, withCausal, computedShare, coverAt, type EngineTiles, sharesOf } from "../../src/api/mask";
import {
  caret,
  inserted,
  painted,
  presets,
  rectangle,
  seenAt,
  maskTable,
  cellsBetween,
} from "../../src/input/maskEditing";

const shares = sharesOf({ rows: ["110", "011"], picture: { rows: 0, columns: 0, cells: "" } });

describe("a painted mask", () => {
  it("is a table of its rows", () => {
    expect(maskTable(shares)).toBe("table(110,011)");
    expect(seenAt(shares, { row: 0, column: 2 })).toBe(false);
    expect(maskTable(painted(shares, [{ row: 0, column: 2 }], true))).toBe("table(111,011)");
    expect(maskTable(painted(shares, rectangle({ row: 1, column: 2 }, { row: 0, column: 1 }), false))).toBe(
      "table(100,000)",
    );
    expect(maskTable(shares)).toBe("table(110,011)");
  });

  it("has no gaps in a quick stroke", () => {
    const way = cellsBetween({ row: 0, column: 0 }, { row: 2, column: 5 });
    expect(way).toHaveLength(6);
    expect(way[0]).toEqual({ row: 0, column: 0 });
    expect(way.at(-1)).toEqual({ row: 2, column: 5 });
    way.slice(1).forEach((cell, k) => {
      expect(Math.abs(cell.row - way[k].row)).toBeLessThanOrEqual(1);
      expect(Math.abs(cell.column - way[k].column)).toBeLessThanOrEqual(1);
    });
    expect(
      new Set(cellsBetween({ row: 3, column: 3 }, { row: 3, column: 3 }).map((c) => `${c.row}.${c.column}`)),
    ).toEqual(new Set(["3.3"]));
  });
});

it("a long mask comes as shares of seen pairs", () => {
  const cells = btoa(String.fromCharCode(0, 128, 255, 64));
  expect([...sharesOf({ rows: null, picture: { rows: 2, columns: 2, cells } }).bytes]).toEqual([0, 128, 255, 64]);
});

it("finds rows that see no key", () => {
  expect(emptyRows(["010", "000", "111", "000"])).toEqual([1, 3]);
});

describe("tiles of the engine", () => {
  // 10 x 100 pairs: tiles of 4 x 64, the last ones smaller.
  const tiles: EngineTiles = {
    rows: 4,
    keys: 64,
    down: 3,
    across: 2,
    covers: "101021",
    full: 1,
    partial: 3,
    skipped: 2,
  };

  it("count with their real size at the edges", () => {
    expect(computedShare(tiles, 10, 100)).toBeCloseTo((4 * 64 + 4 * 64 + 2 * 64 + 2 * 36) / 1000, 12);
    expect(computedShare({ ...tiles, covers: null }, 10, 100)).toBeNull();
    expect(computedShare({ ...tiles, covers: null, skipped: 0 }, 10, 100)).toBe(1);
  });

  it("are found by cell", () => {
    expect(coverAt(tiles, { row: 0, column: 0 })).toBe(1);
    expect(coverAt(tiles, { row: 3, column: 64 })).toBe(0);
    expect(coverAt(tiles, { row: 9, column: 63 })).toBe(2);
    expect(coverAt({ ...tiles, covers: null }, { row: 9, column: 63 })).toBeNull();
  });
});

describe("a mask as text", () => {
  it("combines with the model's own rule", () => {
    expect(withCausal("window(2) | global(1)", true)).toBe("causal & (window(2) | global(1))");
    expect(withCausal("window(2)", false)).toBe("window(2)");
    expect(withCausal("everything", true)).toBe("causal");
  });

  it("has a caret under the wrong column", () => {
    expect(caret("causal & windw(2)", 10)).toEqual({ line: "causal & windw(2)", mark: " ".repeat(9) + "^" });
    const long = "causal & ".repeat(40) + "windw(2)";
    const { line, mark } = caret(long, 361);
    expect(line[mark.indexOf("^")]).toBe("w");
    expect(line.length).toBeLessThanOrEqual(66);
    expect(caret("causal &", 9).mark).toBe(" ".repeat(8) + "^");
  });

  it.each([
    ["", "causal", "causal"],
    ["causal", "window(2)", "causal & window(2)"],
    ["causal", "|", "causal | "],
    ["causal | ", "global(1)", "causal | global(1)"],
    ["~", "causal", "~causal"],
    ["(", "causal", "(causal"],
    ["causal & (window(2)", ")", "causal & (window(2))"],
    ["causal", "~", "causal & ~"],
  ])("%j and then %s is %j", (text, name, whole) => {
    const next = inserted(text, name, text.length, text.length);
    expect(next.text).toBe(whole);
    expect(next.cursor).toBe(whole.length);
  });

  it("keeps the text after the cursor", () => {
    expect(inserted("causal & window(2)", "global(1)", 9, 18)).toEqual({ text: "causal & global(1)", cursor: 18 });
  });

  it("has presets that fit the text", () => {
    for (const size of [1, 2, 11, 128, 4096]) {
      for (const { text } of presets(size)) expect(text).not.toMatch(/\((0|-|NaN)/);
    }
    expect(presets(4096).find(({ name }) => name === "sliding")?.text).toBe("causal & window(512)");
  });
});
