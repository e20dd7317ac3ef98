import { compareUrl } from "../../src/api/routes";
import { changeOneWord, swapWords } from "../../src/input/textVariants";
import { describe, expect, it } from "vitest";
import {
  unpaired,
  alignTokens,
  requestB,
  otherModel,
  partnerIndices,
  stateOfB,
  rowDifferences,
} from "../../src/api/comparison";
import type { ModelFacts } from "../../src/api/facts";
import type { RecordRequest } from "../../src/api/recordRequest";
import { kDefaultState } from "../../src/state/urlState";
import { differenceOfByte, differenceShade, weightShade } from "../../src/draw/shade";
import { formatSigned } from "../../src/i18n/format";
import { colourMap } from "../../src/draw/colour";

const a: RecordRequest = {
  model: "tiny-bert",
  text: "The cat sat.",
  mask: "causal",
  off: [{ kind: "self", layer: 1, head: 2 }],
};

describe("the compared request", () => {
  it("is null until a model is named", () => {
    expect(requestB({ ...kDefaultState, textB: "words" }, a)).toBeNull();
    expect(requestB({ ...kDefaultState, modelB: "tiny-bert" }, null)).toBeNull();
  });

  it("has no heads off and no mask, unless the URL says so", () => {
    const b = requestB({ ...kDefaultState, modelB: "tiny-bert", textB: "The cat sat." }, a);
    expect(b).toEqual({ model: "tiny-bert", text: "The cat sat." });
  });

  it("has A's target, and A's generation for the same model", () => {
    const generate = { tokens: 5, temperature: 1, top_k: 0, top_p: 1, seed: 0 };
    const from = { ...a, target: "Il", generate };
    expect(requestB({ ...kDefaultState, modelB: "tiny-bert", textB: "x" }, from)).toMatchObject({
      target: "Il",
      generate,
    });
    expect(requestB({ ...kDefaultState, modelB: "other", textB: "x" }, from)).not.toHaveProperty("generate");
  });

  it("survives the URL, so that A and B can be swapped", () => {
    expect(requestB({ ...kDefaultState, ...stateOfB(a) }, a)).toEqual(a);
  });
});

describe("aligned tokens", () => {
  // A: the cat sat down; B: the big dog sat down
  const pairs: [number, number][] = [
    [0, 0],
    [2, 3],
    [3, 4],
  ];

  it("have their partner, or none", () => {
    expect([...partnerIndices(pairs, 4)]).toEqual([0, -1, 3, 4]);
    expect([...unpaired(partnerIndices(pairs, 4))]).toEqual([1]);
  });

  it("keep the order of both texts", () => {
    expect(alignTokens(pairs, 4, 5).all).toEqual([
      { a: 0, b: 0 },
      { a: 1, b: null },
      { a: null, b: 1 },
      { a: null, b: 2 },
      { a: 2, b: 3 },
      { a: 3, b: 4 },
    ]);
  });

  it("include texts without common tokens, and the end", () => {
    expect(alignTokens([], 1, 2).all).toEqual([
      { a: 0, b: null },
      { a: null, b: 0 },
      { a: null, b: 1 },
    ]);
    expect(alignTokens([[0, 0]], 2, 1).all).toEqual([
      { a: 0, b: 0 },
      { a: 1, b: null },
    ]);
  });

  it("shorten long equal runs, and are cut at the limit", () => {
    const same = Array.from({ length: 100 }, (_, i): [number, number] => [i, i < 50 ? i : i + 1]);
    const { all } = alignTokens(same, 100, 101, 3);
    expect(all.map(({ same: left }) => left ?? 0)).toEqual([47, 0, 0, 0, 0, 0, 0, 0, 47]);
    expect(all[4]).toEqual({ a: null, b: 50 });
    expect(alignTokens([], 100, 100, 3, 60)).toMatchObject({ left: 140 });
  });
});

describe("a row of A and B", () => {
  it("has the largest difference first, then keys of A alone, and B's weight elsewhere", () => {
    const rowA = Float32Array.of(0.5, 0.25, 0.25, 0);
    const rowB = Float32Array.of(0.25, 0.125, 0.5, 0.125);
    const { rows, elsewhere } = rowDifferences(rowA, rowB, Int32Array.of(0, -1, 2, 3));
    expect(rows.map(({ key, difference }) => [key, difference])).toEqual([
      [0, 0.25],
      [2, -0.25],
      [3, -0.125],
      [1, NaN],
    ]);
    expect(elsewhere).toBe(0.125);
  });

  it("is A's alone where B has no such query", () => {
    const { rows, elsewhere } = rowDifferences(Float32Array.of(0.25, 0.75), null, Int32Array.of(0, 1));
    expect(rows.map(({ key, b }) => [key, b])).toEqual([
      [1, null],
      [0, null],
    ]);
    expect(elsewhere).toBe(0);
  });
});

describe("suggested variants", () => {
  it.each([
    ["The film was great.", "The film was terrible."],
    ["Good films last.", "Bad films last."],
    ["She sang.", "He sang."],
    ["今天天气很好。", "今天天气很坏。"],
    ["Attention needs memory.", "memory needs Attention."],
    ["Hm", "H"],
  ])("change one word of %s", (text, other) => expect(changeOneWord(text)).toBe(other));

  it("never change part of a word", () => {
    expect(changeOneWord("Catalogues this thesis")).toBe("thesis this Catalogues");
  });

  const model = (name: string, layers: number, heads: number, form: ModelFacts["form"]): ModelFacts => ({
    name,
    type: "",
    form,
    layers,
    heads,
    decoder_layers: form === "encoder-decoder" ? layers : 0,
    max_tokens: 0,
    fills: false,
    continues: false,
    labels: [],
  });

  it("swap words", () => {
    expect(swapWords("The film was great, wonderful.")).toBe("The film was wonderful, great.");
    expect(swapWords("你好")).toBe("你");
  });

  it("name another model of the same form with as many heads", () => {
    const models = [
      model("own", 4, 4, "encoder"),
      model("small", 2, 4, "encoder"),
      model("writer", 4, 4, "decoder"),
      model("alike", 4, 4, "encoder"),
      model("both", 4, 4, "encoder-decoder"),
    ];
    expect(otherModel(models, "own")?.name).toBe("alike");
    expect(otherModel(models.slice(0, 3), "own")).toBeUndefined();
    expect(otherModel(models, "small")).toBeUndefined();
    expect(otherModel(models, "nobody")).toBeUndefined();
  });
});

describe("colours of differences", () => {
  // As figure/shade.cc: middle + half of the map times the root of the share, 256 steps.
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

it("URLs name both sides", () => {
  expect(compareUrl("1", "2", true, "row", { kind: "self", row: 3 })).toBe(
    "api/compare/row?a=1&b=2&kind=self&row=3&words=1",
  );
  expect(compareUrl("1", "2", false)).toBe("api/compare?a=1&b=2");
});
