import { describe, expect, test } from "vitest";
import { textDirection, visibleText } from "../../src/draw/tokenLabel";

describe("tokens", () => {
  test.each([
    [" the", "·the"],
    ["a b", "a b"],
    ["\n", "\\n"],
    ["\u200b", "\\u200b"],
    ["\x1b", "\\x1b"],
    ["  ", "··"],
    ["👩‍🚀", "👩‍🚀"],
    ["\u200dx", "\\u200dx"],
  ])("%j is written %j", (text, written) => expect(visibleText(text)).toBe(written));

  test("Hebrew and Arabic go from the right, everything else from the left", () => {
    expect(["שלום", "مرحبا", "[SEP]", "今天", "🌳", "12"].map(textDirection)).toEqual([
      "rtl",
      "rtl",
      "ltr",
      "ltr",
      "ltr",
      "ltr",
    ]);
  });
});
