import { describe, expect, test } from "vitest";
import { labelInterval } from "../../src/draw/matrix";
import { kMapTileSize } from "../../src/api/sources/source";
import {
  clampWindow,
  fitScale,
  highestLevel,
  kLargestCell,
  levelFor,
  revealCell,
  mapTilesIn,
  wholeWindow,
  zoomWindow,
} from "../../src/draw/mapWindow";
import { random } from "../fakeRecording";

const kSize = { width: 700, height: 500 };

describe("tiles", () => {
  test("a cell of a tile is at least one pixel of the screen and, unless it is a weight, less than two", () => {
    const shape = { rows: 16384, columns: 16384 };
    for (const ratio of [1, 1.5, 2]) {
      for (let scale = fitScale(kSize, shape); scale < kLargestCell; scale *= 1.1) {
        const level = levelFor(scale, ratio, shape);
        const pixels = scale * ratio * 2 ** level;
        expect(pixels).toBeGreaterThanOrEqual(1 - 1e-6);
        if (level > 0) expect(pixels).toBeLessThan(2);
      }
    }
  });

  test("at the highest level a head is one tile", () => {
    for (const n of [1, 255, 256, 257, 2048, 16384, 16385]) {
      const level = highestLevel({ rows: n, columns: n });
      expect(Math.ceil(n / 2 ** level)).toBeLessThanOrEqual(kMapTileSize);
      if (level > 0) expect(n / 2 ** (level - 1)).toBeGreaterThan(kMapTileSize);
    }
  });

  test.each([1, 2, 3, 4])("tiles cover the window and nothing outside (seed %i)", (seed) => {
    const next = random(seed);
    const shape = { rows: 1 + Math.floor(5000 * next()), columns: 1 + Math.floor(5000 * next()) };
    const window = clampWindow({ x: 5000 * next(), y: 5000 * next(), scale: 4 * next() }, kSize, shape);
    const level = levelFor(window.scale, 1, shape);
    const cells = kMapTileSize * 2 ** level;
    const names = mapTilesIn(window, kSize, level, shape);
    const seen = new Set(names.map(({ row, column }) => `${row}/${column}`));
    for (let trial = 0; trial < 200; ++trial) {
      const x = window.x + (next() * kSize.width) / window.scale;
      const y = window.y + (next() * kSize.height) / window.scale;
      if (x >= shape.columns || y >= shape.rows) continue;
      expect(seen.has(`${Math.floor(y / cells)}/${Math.floor(x / cells)}`)).toBe(true);
    }
    for (const { row, column } of names) {
      expect(row * cells).toBeLessThan(Math.min(shape.rows, window.y + kSize.height / window.scale));
      expect(column * cells).toBeLessThan(Math.min(shape.columns, window.x + kSize.width / window.scale));
      expect((row + 1) * cells).toBeGreaterThan(window.y);
    }
  });

  test("the cell under the pointer stays there while zooming", () => {
    const shape = { rows: 3000, columns: 3000 };
    const before = { x: 500, y: 700, scale: 2 };
    const after = zoomWindow(before, 1.7, [300, 200], kSize, shape);
    expect(after.x + 300 / after.scale).toBeCloseTo(before.x + 300 / before.scale);
    expect(after.y + 200 / after.scale).toBeCloseTo(before.y + 200 / before.scale);
  });

  test("zooming out ends at the whole head, zooming in at the largest cell", () => {
    const shape = { rows: 1000, columns: 1000 };
    expect(zoomWindow({ x: 10, y: 10, scale: 1 }, 0.001, [0, 0], kSize, shape)).toEqual(wholeWindow(kSize, shape));
    expect(zoomWindow({ x: 10, y: 10, scale: 1 }, 1e6, [0, 0], kSize, shape).scale).toBe(kLargestCell);
  });

  test("reveals an invisible cell, and does not move for a visible one", () => {
    const shape = { rows: 1000, columns: 1000 };
    const window = { x: 0, y: 0, scale: 20 };
    const moved = revealCell(window, 400, 500, kSize, shape);
    expect((500 - moved.x) * 20).toBeLessThanOrEqual(kSize.width - 20);
    expect((400 - moved.y) * 20).toBeLessThanOrEqual(kSize.height - 20);
    expect(revealCell(moved, 399, 499, kSize, shape)).toEqual(moved);
  });

  test("names along an edge are 1, 2, 5, 10, 20, 50 ... apart", () => {
    expect([40, 20, 10, 4, 2, 1, 0.4, 0.03].map((scale) => labelInterval(scale, 24))).toEqual([
      1, 2, 5, 10, 20, 50, 100, 1000,
    ]);
  });
});
