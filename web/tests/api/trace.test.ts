import { describe, expect, test } from "vitest";
import {
  isHighlighted,
  isVector,
  largestAt,
  inputsOf,
  normOf,
  orderOf,
  productsText,
  runningSums,
  scaleName,
  scoresOf,
  type Term,
} from "../../src/api/trace";
import { random } from "../fakeRecording";

describe("a traced weight", () => {
  const next = random(5);
  const q = Array.from({ length: 40 }, () => 4 * next() - 2);
  const k = Array.from({ length: 40 }, () => 4 * next() - 2);
  const products = q.map((value, d) => value * k[d]);

  test("orders products by index, or largest first with ties in order", () => {
    expect(orderOf([1, -3, 3, 0.5], false)).toEqual([0, 1, 2, 3]);
    expect(orderOf([1, -3, 3, 0.5], true)).toEqual([1, 2, 0, 3]);
  });

  test("running sums end at the dot product in any order", () => {
    const dot = products.reduce((a, b) => a + b, 0);
    for (const bySize of [false, true]) {
      const sums = runningSums(products, orderOf(products, bySize));
      expect(sums).toHaveLength(40);
      expect(sums[39]).toBeCloseTo(dot, 10);
      expect(sums[0]).toBe(products[orderOf(products, bySize)[0]]);
    }
  });

  test("recovers the scores of a row from its weights and lse", () => {
    const scores = [1.5, -0.25, 3, -Infinity];
    const lse = Math.log(scores.reduce((sum, s) => sum + Math.exp(s), 0));
    const weights = Float32Array.from(scores, (s) => Math.exp(s - lse));
    const back = scoresOf(weights, lse);
    scores.forEach((s, j) => (s === -Infinity ? expect(back[j]).toBe(s) : expect(back[j]).toBeCloseTo(s, 5)));
  });

  test("names the scale 1/√D", () => {
    expect(scaleName({ scale: Math.fround(1 / Math.sqrt(40)), q })).toBe("1/√40");
    expect(scaleName({ scale: 1, q })).toBeNull();
  });

  test("highlights the inputs of a number, and nothing else", () => {
    expect(inputsOf("score")).toContain("bias");
    expect(isHighlighted("q", "products")).toBe(true);
    expect(isHighlighted("products", "products")).toBe(true);
    expect(isHighlighted("x", "products")).toBe(false);
    expect(isHighlighted("weight", "contribution")).toBe(true);
    expect(isHighlighted("weight", null)).toBe(false);
    // Inputs lead back to what the model provides, without cycles.
    const reached = (term: Term, seen: Term[] = []): Term[] => {
      expect(seen).not.toContain(term);
      return inputsOf(term).flatMap((maker) => [maker, ...reached(maker, [...seen, term])]);
    };
    expect(new Set(reached("share"))).toContain("q");
    expect(["x", "contribution"].every((term) => isVector(term as Term)) && !isVector("lse")).toBe(true);
  });

  test("copies all products with all digits", () => {
    const lines = productsText({ q: [0.1, 2], k: [3, -1], products: [0.30000001192092896, -2] }).split("\n");
    expect(lines).toEqual(["d\tq\tk\tq k", "0\t0.1\t3\t0.30000001192092896", "1\t2\t-1\t-2", ""]);
  });

  test("norms and the largest of a row", () => {
    expect(normOf([3, -4])).toBe(5);
    expect(largestAt([0.1, 0.5, 0.5, 0.2])).toBe(1);
  });
});
