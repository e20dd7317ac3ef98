import { describe, expect, test } from "vitest";
import { allDigits, formatCell, formatPercent, formatNumber } from "../../src/i18n/format";
import { random } from "../fakeRecording";

describe("numbers", () => {
  test("are shown with three digits", () => {
    expect([0.8123, 0.08123, 0.008123, 1.2345, 12.345, 2048, 0, 1].map(formatNumber)).toEqual([
      "0.812",
      "0.0812",
      "0.00812",
      "1.23",
      "12.3",
      "2048",
      "0",
      "1.00",
    ]);
    expect(formatNumber(0.000081)).toBe("8.1e−5");
    expect([0.8123, 0, 0.0004, 1].map(formatCell)).toEqual([".812", "0", "<.001", "1.00"]);
    expect([0.12345, 0.0123, 0.00001, 0].map(formatPercent)).toEqual(["12%", "1.2%", "<0.1%", "0.0%"]);
  });

  test("are copied with digits that give back the same float", () => {
    const next = random(11);
    for (let i = 0; i < 1000; ++i) {
      const value = Math.fround(next() ** 8);
      expect(Math.fround(Number(allDigits(value)))).toBe(value);
    }
    expect(allDigits(Math.fround(0.1))).toBe("0.1");
  });
});
