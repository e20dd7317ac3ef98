import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { colourMap, headStyles, textColourOn, kHues, kMapNames, pixels } from "../../src/draw/colour";

// matplotlib's colours at 65 values from 0 to 1.
const published = JSON.parse(readFileSync(new URL("../../../tests/golden/colour_maps.json", import.meta.url), "utf8"));

describe("colours", () => {
  test.each(kMapNames)("%s has 256 steps and is matplotlib's", (name) => {
    const map = colourMap(name);
    expect(map).toHaveLength(256);
    (published[name] as number[][]).forEach((parts, place) => {
      const step = map[Math.min(255, Math.floor((place / 64) * 256))];
      parts.forEach((part, i) => expect(Math.abs(step[i] - 255 * part)).toBeLessThanOrEqual(1));
    });
  });

  test("hues of heads are those of the figures", () => {
    const source = readFileSync(new URL("../../../src/figure/colour/colour_map.cc", import.meta.url), "utf8");
    const list = /kHues = \{\{([\s\S]*?)\}\};/.exec(source)![1];
    const hues = [...list.matchAll(/\{0x(..), 0x(..), 0x(..)\}/g)].map(([, r, g, b]) => `#${r}${g}${b}`);
    expect(kHues).toEqual(hues);
    expect(new Set(kHues).size).toBeGreaterThanOrEqual(16);
  });

  test("heads shown together never share both hue and dash", () => {
    const heads = Array.from({ length: 16 }, (_, i) => ({ head: i % 4 }));
    const seen = headStyles(heads).map((style) => style.hue + style.dash);
    expect(new Set(seen).size).toBe(16);
  });

  test("a head keeps its hue when another one goes", () => {
    const [, second] = headStyles([{ head: 2 }, { head: 5 }]);
    expect(headStyles([{ head: 5 }])[0].hue).toBe(second.hue);
  });

  test("the last colour goes to the largest weight when colours are fitted", () => {
    const fitted = pixels("viridis", 40);
    expect(fitted[40]).toBe(pixels("viridis")[255]);
    expect(fitted[20]).toBe(pixels("viridis")[128]);
  });

  test("text is readable on both ends of a map", () => {
    expect(textColourOn(colourMap("viridis")[0])).toBe("#fff");
    expect(textColourOn(colourMap("viridis")[255])).toBe("#000");
  });
});
