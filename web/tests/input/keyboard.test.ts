import { describe, expect, it } from "vitest";
import { cellCentre, cellAfterArrow, zoomFactor } from "../../src/input/keyboard";
import type { PanZoomView } from "../../src/input/panZoom";

// 100 x 100 cells of 10 pixels in a plot of 400 x 300 at (50, 40) of a stage that stands at (7, 3).
const under: PanZoomView = {
  window: { x: 10, y: 20, scale: 10 },
  plot: { width: 400, height: 300 },
  shape: { rows: 100, columns: 100 },
  frame: { left: 50, top: 40, right: 0, bottom: 0 },
  corner: [7, 3],
};

describe("keys on a map", () => {
  const press = (key: string, shiftKey = false) => ({ key, shiftKey });

  it("move the cell, ten at once with shift, and stay inside", () => {
    expect(cellAfterArrow(press("ArrowDown"), { row: 5, column: 5 }, under)).toEqual({ row: 6, column: 5 });
    expect(cellAfterArrow(press("ArrowLeft", true), { row: 5, column: 5 }, under)).toEqual({ row: 5, column: 0 });
    expect(cellAfterArrow(press("ArrowRight"), { row: null, column: null }, under)).toEqual({ row: 20, column: 10 });
    expect(cellAfterArrow(press("x"), { row: 5, column: 5 }, under)).toBeUndefined();
  });

  it("zoom around the current cell", () => {
    expect([zoomFactor("+"), zoomFactor("="), zoomFactor("0"), zoomFactor("a")]).toEqual([1.5, 1.5, 0, undefined]);
    expect(cellCentre({ row: 21, column: 12 }, under)).toEqual([25, 15]);
    expect(cellCentre({ row: null, column: null }, under)).toEqual([200, 150]);
  });
});
