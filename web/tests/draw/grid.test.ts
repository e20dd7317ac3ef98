import { describe, expect, test } from "vitest";
import { gridWithList, ordered, sortedGrid, indexAt, layerGrid } from "../../src/draw/grid";
import { FakeRecording } from "../fakeRecording";

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
