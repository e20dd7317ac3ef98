// Pan and zoom of a map: one pointer drags (or paints), two pinch, the wheel zooms, a click picks a cell.
import type { Frame } from "../draw/matrix";
import type { MapWindow } from "../state/urlState";
import { clampWindow, type Shape, type Size, zoomWindow } from "../draw/mapWindow";

export interface Cell {
  row: number;
  column: number;
}

export type Point = [x: number, y: number];

// The current geometry of the map.
export interface PanZoomView {
  window: MapWindow;
  plot: Size;
  shape: Shape;
  frame: Frame;
  corner: Point; // of the stage on the screen
  paints?: boolean; // one pointer paints instead of moving the map
}

export interface PanZoomListener {
  moveWindow: (window: MapWindow) => void;
  hover: (cell: Cell | null) => void;
  pick: (cell: Cell) => void;
  dragging?: (dragging: boolean) => void;
  // From the first cell of a stroke to the one where the pointer is; `before` is where it was.
  paint?: (cell: Cell, first: Cell, before: Cell, rectangle: boolean) => void;
  painted?: () => void; // the stroke has ended; `pick` is not called
}

const kStill = 4; // pixels: less movement is a click

export class PanZoom {
  private readonly pointers = new Map<number, Point>();
  private moved = 0;
  private stroke: { first: Cell; before: Cell } | null = null;

  constructor(
    private readonly view: () => PanZoomView,
    private readonly on: PanZoomListener,
  ) {}

  at(event: { clientX: number; clientY: number }): Point {
    const { corner, frame } = this.view();
    return [event.clientX - corner[0] - frame.left, event.clientY - corner[1] - frame.top];
  }

  cell([x, y]: Point): Cell | null {
    const { window, plot, shape } = this.view();
    const cell = { row: Math.floor(window.y + y / window.scale), column: Math.floor(window.x + x / window.scale) };
    const inside =
      x >= 0 && y >= 0 && x < plot.width && y < plot.height && cell.row < shape.rows && cell.column < shape.columns;
    return inside ? cell : null;
  }

  zoom(factor: number, at?: Point): void {
    const { window, plot, shape } = this.view();
    this.on.moveWindow(zoomWindow(window, factor, at ?? [plot.width / 2, plot.height / 2], plot, shape));
  }

  down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.at(event));
    this.moved = 0;
    const first = this.view().paints && this.pointers.size === 1 ? this.cell(this.at(event)) : null;
    this.stroke = first && { first, before: first };
    if (first) this.on.paint?.(first, first, first, event.shiftKey);
  };

  move = (event: PointerEvent): void => {
    const to = this.at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before || this.stroke) {
      this.on.hover(event.pointerType === "touch" && !this.stroke ? null : this.cell(to));
      if (this.stroke && before) this.drawOn(this.cell(to), event.shiftKey);
      return;
    }
    const [dx, dy] = [to[0] - before[0], to[1] - before[1]];
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved < kStill && this.pointers.size === 1) return;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, to);
    this.on.dragging?.(true);
    this.on.hover(null);
    if (!other) return this.shift(-dx, -dy);
    const apart = (p: Point) => Math.max(8, Math.hypot(p[0] - other[0], p[1] - other[1]));
    this.zoom(apart(to) / apart(before), [(to[0] + other[0]) / 2, (to[1] + other[1]) / 2]);
  };

  up = (event: PointerEvent): void => {
    if (!this.pointers.delete(event.pointerId)) return;
    const cell = this.cell(this.at(event));
    if (this.stroke) {
      this.stroke = null;
      this.on.painted?.();
    } else if (this.moved < kStill && cell) this.on.pick(cell);
    this.on.dragging?.(this.pointers.size > 0);
  };

  wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const [dx, dy] = [event.deltaX, event.deltaY].map((d) => (event.deltaMode === 1 ? 20 * d : d));
    if (event.shiftKey) {
      this.shift(dx + dy, 0);
    } else {
      this.zoom(Math.exp(-dy * (event.ctrlKey ? 0.01 : 0.0022)), this.at(event));
      if (dx) this.shift(dx, 0);
    }
    this.on.hover(this.cell(this.at(event)));
  };

  private drawOn(cell: Cell | null, rectangle: boolean): void {
    const { first, before } = this.stroke!;
    if (!cell || (cell.row === before.row && cell.column === before.column)) return;
    this.on.paint?.(cell, first, before, rectangle);
    this.stroke = { first, before: cell };
  }

  private shift(x: number, y: number): void {
    const { window, plot, shape } = this.view();
    const { scale } = window;
    this.on.moveWindow(clampWindow({ ...window, x: window.x + x / scale, y: window.y + y / scale }, plot, shape));
  }
}
