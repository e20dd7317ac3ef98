// Draws any count of numbers as bars above and below a line.
import type { Size } from "./mapWindow";

export interface Bar {
  x: number;
  width: number;
  low: number; // the smallest and the largest of the numbers that share the bar, and 0
  high: number;
  first: number; // places in the order
  last: number;
}

// One bar per number, or one per pixel for several numbers; numbers that are not finite have none.
export function barsOf(values: ArrayLike<number>, order: ArrayLike<number> | null, width: number): Bar[] {
  const count = order?.length ?? values.length;
  const bars: Bar[] = [];
  const each = Math.max(1, Math.ceil(count / Math.max(1, width)));
  const pitch = (width / Math.max(1, count)) * each;
  for (let first = 0; first < count; first += each) {
    const last = Math.min(first + each, count) - 1;
    let [low, high] = [0, 0];
    for (let n = first; n <= last; ++n) {
      const value = values[order ? order[n] : n];
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    const x = (first / each) * pitch;
    const wide = Math.min(pitch, width - x);
    bars.push({ x, width: wide > 3 ? wide - 1 : wide, low, high, first, last });
  }
  return bars;
}

export function extremesOf(values: ArrayLike<number>): [low: number, high: number] {
  let [low, high] = [0, 0];
  for (let i = 0; i < values.length; ++i) {
    if (!Number.isFinite(values[i])) continue;
    low = Math.min(low, values[i]);
    high = Math.max(high, values[i]);
  }
  return [low, high];
}

// The index of the number at `x`: where several share a bar, the largest of them.
export function barAt(values: ArrayLike<number>, order: ArrayLike<number> | null, width: number, x: number): number {
  const count = order?.length ?? values.length;
  const each = Math.max(1, Math.ceil(count / Math.max(1, width)));
  const pitch = (width / Math.max(1, count)) * each;
  const first = Math.min(Math.max(Math.floor(x / pitch), 0) * each, count - 1);
  const place = (n: number) => (order ? order[n] : n);
  let best = place(first);
  for (let n = first; n < Math.min(first + each, count); ++n) {
    if (Math.abs(values[place(n)]) > Math.abs(values[best])) best = place(n);
  }
  return best;
}

export interface BarsPicture {
  values: ArrayLike<number>;
  order: ArrayLike<number> | null; // places from left to right; null: as they stand
  at: number | null; // the highlighted number
  steps: boolean; // drawn as a running sum
  colours: { up: string; down: string; line: string; at: string; wash: string };
}

export function drawBars(context: CanvasRenderingContext2D, size: Size, of: BarsPicture): void {
  const [low, high] = extremesOf(of.values);
  const span = high - low || 1;
  const room = size.height - 2;
  const y = (value: number) => 1 + ((high - value) / span) * room;
  const zero = y(0);
  const bars = barsOf(of.values, of.order, size.width);
  const marked = bars.find(({ first, last }) => {
    for (let n = first; n <= last; ++n) if ((of.order ? of.order[n] : n) === of.at) return true;
    return false;
  });
  if (marked) {
    const wide = Math.max(3, marked.width);
    context.fillStyle = of.colours.wash;
    context.fillRect(marked.x + (marked.width - wide) / 2, 0, wide, size.height);
  }
  context.fillStyle = of.colours.line;
  context.fillRect(0, Math.round(zero) - 0.5, size.width, 1);
  for (const bar of bars) {
    if (of.steps) step(context, bar, { y, zero, ...of.colours });
    else {
      if (bar.high > 0) fill(context, bar, y(bar.high), zero, bar === marked ? of.colours.at : of.colours.up);
      if (bar.low < 0) fill(context, bar, zero, y(bar.low), bar === marked ? of.colours.at : of.colours.down);
    }
  }
}

function fill(context: CanvasRenderingContext2D, bar: Bar, top: number, bottom: number, colour: string): void {
  context.fillStyle = colour;
  context.fillRect(bar.x, Math.min(top, bottom - 0.75), bar.width, Math.max(0.75, bottom - top));
}

function step(
  context: CanvasRenderingContext2D,
  bar: Bar,
  { y, zero, up, wash }: { y: (value: number) => number; zero: number; up: string; wash: string },
): void {
  const value = bar.high > 0 ? bar.high : bar.low;
  context.fillStyle = wash;
  context.fillRect(bar.x, Math.min(y(value), zero), bar.width + 1, Math.abs(zero - y(value)));
  context.fillStyle = up;
  context.fillRect(bar.x, y(value) - 1, bar.width + 1, 2);
}
