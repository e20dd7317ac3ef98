import { describe, expect, test } from "vitest";
import { selectLines, largest } from "../../src/draw/lineSelection";

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
