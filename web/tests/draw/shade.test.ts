import { describe, expect, it } from "vitest";
import { differenceOfByte, differenceShade, weightShade } from "../../src/draw/shade";
import { formatSigned } from "../../src/i18n/format";
import { colourMap } from "../../src/draw/colour";

describe("colours of differences", () => {
  // As src/figure/colour/shade.cc: middle + half of the map times the root of the share, 256 steps.
  it("are those of the figures: blue below 0, red above", () => {
    const colours = colourMap("RdBu");
    const { colour } = differenceShade(127);
    expect(colour(1)).toEqual(colours[255]);
    expect(colour(-1)).toEqual(colours[0]);
    expect(colour(0)).toEqual(colours[128]);
    expect(colour(0.25)).toEqual(colours[192]);
    expect(colours[255][0]).toBeGreaterThan(colours[255][2]);
    expect(colours[0][2]).toBeGreaterThan(colours[0][0]);
  });

  it("are transparent for unpaired tokens, and reach to the largest difference", () => {
    const { pixels } = differenceShade(10);
    expect(pixels[0]).toBe(0);
    expect(pixels[138]).toBe(pixels[255]);
    expect(pixels[118]).toBe(pixels[1]);
    expect(pixels[128]).not.toBe(pixels[130]);
  });

  it("map bytes back to numbers with a sign", () => {
    expect([1, 128, 255].map(differenceOfByte)).toEqual([-1, 0, 1]);
    expect(differenceOfByte(128 + 64)).toBeCloseTo((64 / 127) ** 2, 12);
    expect(formatSigned(-0.5, String)).toBe("−0.5");
    expect(formatSigned(0.5, String)).toBe("+0.5");
    expect(differenceShade(127).text(-0.125)).toBe("−.125");
    expect(differenceShade(127).text(NaN)).toBe("");
  });

  it("leave those of weights unchanged, on any scale", () => {
    const map = colourMap("viridis");
    expect(weightShade("viridis", 255).colour(0.25)).toEqual(map[128]);
    expect(weightShade("viridis", 255, 4).colour(1)).toEqual(map[128]);
    expect(weightShade("viridis", 128).colour(1)).toEqual(map[255]);
  });
});
