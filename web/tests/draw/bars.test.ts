import { describe, expect, test } from "vitest";
import { barAt, barsOf, extremesOf } from "../../src/draw/bars";
import { random } from "../fakeRecording";

describe("bars", () => {
  test("draws one bar per number while there are enough pixels", () => {
    const bars = barsOf([1, -2, 0.5, Infinity], null, 400);
    expect(bars.map(({ low, high }) => [low, high])).toEqual([
      [0, 1],
      [-2, 0],
      [0, 0.5],
      [0, 0],
    ]);
    expect(bars[3].x).toBe(300);
    expect(barsOf([1, 2, 3], [2, 0, 1], 30).map(({ high }) => high)).toEqual([3, 1, 2]);
  });

  test("keeps the extremes of both signs where numbers share a bar", () => {
    const next = random(9);
    const values = Array.from({ length: 5000 }, () => next() - 0.5);
    values[1234] = 9;
    values[4999] = -7;
    const bars = barsOf(values, null, 300);
    expect(bars.length).toBeLessThanOrEqual(300);
    expect(Math.max(...bars.map(({ high }) => high))).toBe(9);
    expect(bars.at(-1)!.low).toBe(-7);
    expect(bars.at(-1)!.last).toBe(4999);
    expect(bars.at(-1)!.x + bars.at(-1)!.width).toBeLessThanOrEqual(300.001);
    expect(extremesOf(values)).toEqual([-7, 9]);
  });

  test("finds the number that is drawn under the pointer", () => {
    for (const [count, width] of [
      [40, 400],
      [5000, 300],
    ]) {
      const values = Array.from({ length: count }, (_, i) => i + 1);
      for (const bar of barsOf(values, null, width)) {
        expect(barAt(values, null, width, bar.x + bar.width / 2)).toBe(bar.last);
      }
    }
    expect(barAt([1, 2, 3], [2, 0, 1], 30, 5)).toBe(2);
    expect(barAt([1, 2, 3], null, 30, 999)).toBe(2);
  });
});
