import { expect, test } from "vitest";
import { transformBetween } from "../../src/draw/transition";

test("a transition begins where the picture was", () => {
  const from = { x: 10, y: 20, width: 50, height: 40 };
  const to = { x: 100, y: 80, width: 500, height: 400 };
  expect(transformBetween(from, to)).toBe("translate(-90px, -60px) scale(0.1, 0.1)");
});
