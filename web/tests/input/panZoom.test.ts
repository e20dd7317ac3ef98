import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Cell, PanZoom, type PanZoomView } from "../../src/input/panZoom";
import type { MapWindow } from "../../src/state/urlState";

// 100 x 100 cells of 10 pixels in a plot of 400 x 300 at (50, 40) of a stage that stands at (7, 3).
const under: PanZoomView = {
  window: { x: 10, y: 20, scale: 10 },
  plot: { width: 400, height: 300 },
  shape: { rows: 100, columns: 100 },
  frame: { left: 50, top: 40, right: 0, bottom: 0 },
  corner: [7, 3],
};

const element = { setPointerCapture: () => undefined };

const pointer = (x: number, y: number, more: object = {}): PointerEvent =>
  ({
    clientX: x + 57,
    clientY: y + 43,
    button: 0,
    pointerId: 1,
    pointerType: "mouse",
    shiftKey: false,
    currentTarget: element,
    ...more,
  }) as unknown as PointerEvent;

const on = {
  moveWindow: vi.fn<(w: MapWindow) => void>(),
  hover: vi.fn(),
  pick: vi.fn(),
  dragging: vi.fn(),
  paint: vi.fn(),
  painted: vi.fn(),
};

beforeEach(() => vi.clearAllMocks());

describe("pan and zoom", () => {
  const panZoom = new PanZoom(() => under, on);

  it("finds cells, and none outside", () => {
    panZoom.move(pointer(5, 5));
    expect(on.hover).toHaveBeenLastCalledWith({ row: 20, column: 10 });
    panZoom.move(pointer(-1, 5));
    expect(on.hover).toHaveBeenLastCalledWith(null);
  });

  it("picks a cell on a click", () => {
    panZoom.down(pointer(25, 5));
    panZoom.move(pointer(26, 6));
    panZoom.up(pointer(26, 6));
    expect(on.pick).toHaveBeenCalledExactlyOnceWith({ row: 20, column: 12 });
    expect(on.moveWindow).not.toHaveBeenCalled();
  });

  it("drags the map with one pointer, and picks nothing then", () => {
    panZoom.down(pointer(100, 100));
    panZoom.move(pointer(80, 70));
    expect(on.moveWindow).toHaveBeenLastCalledWith({ x: 12, y: 23, scale: 10 });
    panZoom.up(pointer(80, 70));
    expect(on.pick).not.toHaveBeenCalled();
    expect(on.dragging).toHaveBeenLastCalledWith(false);
  });

  it("zooms with two pointers around their middle", () => {
    panZoom.down(pointer(100, 100));
    panZoom.down(pointer(200, 100, { pointerId: 2 }));
    panZoom.move(pointer(300, 100, { pointerId: 2 }));
    const to = on.moveWindow.mock.lastCall![0];
    expect(to.scale).toBe(20);
    expect(to.x + 200 / to.scale).toBeCloseTo(under.window.x + 200 / under.window.scale, 9);
    panZoom.up(pointer(300, 100, { pointerId: 2 }));
    panZoom.up(pointer(100, 100));
  });

  it("zooms with the wheel around the pointer, and pans sideways with shift", () => {
    const wheel = (more: object) =>
      ({
        ...pointer(100, 50),
        deltaX: 0,
        deltaY: 0,
        deltaMode: 0,
        ctrlKey: false,
        preventDefault: () => undefined,
        ...more,
      }) as unknown as WheelEvent;
    panZoom.wheel(wheel({ deltaY: -100 }));
    const to = on.moveWindow.mock.lastCall![0];
    expect(to.scale).toBeGreaterThan(10);
    expect(to.x + 100 / to.scale).toBeCloseTo(20, 9);
    panZoom.wheel(wheel({ deltaY: 30, shiftKey: true }));
    expect(on.moveWindow).toHaveBeenLastCalledWith({ x: 13, y: 20, scale: 10 });
  });
});

describe("painting on a map", () => {
  const panZoom = new PanZoom(() => ({ ...under, paints: true }), on);

  it("reports every cell of a stroke with its first and last cell, and picks nothing", () => {
    panZoom.down(pointer(5, 5));
    panZoom.move(pointer(7, 7));
    panZoom.move(pointer(35, 5));
    panZoom.move(pointer(35, 25, { shiftKey: true }));
    panZoom.up(pointer(35, 25));
    const cell = (row: number, column: number): Cell => ({ row, column });
    expect(on.paint.mock.calls).toEqual([
      [cell(20, 10), cell(20, 10), cell(20, 10), false],
      [cell(20, 13), cell(20, 10), cell(20, 10), false],
      [cell(22, 13), cell(20, 10), cell(20, 13), true],
    ]);
    expect(on.painted).toHaveBeenCalledOnce();
    expect(on.pick).not.toHaveBeenCalled();
    expect(on.moveWindow).not.toHaveBeenCalled();
  });
});
