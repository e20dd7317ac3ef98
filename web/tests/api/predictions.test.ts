import { describe, expect, test } from "vitest";
import { type Facts, type ModelFacts, type Stack, type Token } from "../../src/api/facts";
import {
  predictedToken,
  gapAt,
  isGap,
  kLeast,
  kMost,
  restOf,
  temperatureOfSlider,
  sliderOfTemperature,
  outputStack,
  visibleRange,
} from "../../src/api/predictions";
import { ablatedToken } from "../../src/state/headSwitches";

const tokens = (...texts: string[]): Token[] =>
  texts.map((text) => ({ text, special: /^[[<].*[\]>]$/.test(text), word: null, sequence: 0 }));

const stack = (kind: Stack["kind"], read: Token[]): Stack => ({
  kind,
  layers: 2,
  heads: 3,
  queries: read.length,
  keys: read.length,
  causal: false,
  query_tokens: read,
  key_tokens: null,
  thumbnail: { rows: 1, columns: 1 },
});

const facts = (form: ModelFacts["form"], ...stacks: Stack[]): Facts => ({
  id: "1",
  name: "m",
  text: "t",
  pair: null,
  model: { name: "m", type: "t", form },
  origin: { model: "m", text: "t", generate: null },
  stacks,
  heads: [],
  ranking: [],
  look_at: null,
  rule: "",
});

describe("the predicted token", () => {
  test("of an encoder is a gap, else one token", () => {
    const gaps = facts("encoder", stack("self", tokens("[CLS]", "a", "[MASK]", "[SEP]")));
    expect(predictedToken(gaps, null)).toBeNull();
    expect(predictedToken(gaps, 2)).toBeNull();
    expect(predictedToken(gaps, 1)).toBe(1);
    const none = facts("encoder", stack("self", tokens("[CLS]", "a", "b", "[SEP]")));
    expect(predictedToken(none, null)).toBe(1);
    expect(predictedToken(none, 9)).toBe(1);
  });

  test("of a decoder follows its last token or another; of an encoder-decoder it is a row of the target", () => {
    const decoder = facts("decoder", stack("self", tokens("a", "b", "c")));
    expect([null, 0, 2].map((row) => predictedToken(decoder, row))).toEqual([null, 0, null]);
    const both = facts("encoder-decoder", stack("self", tokens("a")), stack("decoder", tokens("<s>", "x")));
    expect(outputStack(both).kind).toBe("decoder");
    expect([null, 0].map((row) => predictedToken(both, row))).toEqual([1, 0]);
  });

  test("counts gaps from the start", () => {
    const read = tokens("[CLS]", "[MASK]", "a", "<mask>");
    expect(read.map(isGap)).toEqual([false, true, false, true]);
    expect(gapAt(read, 3)).toBe(1);
  });

  test("of an ablated long text is a single one", () => {
    const long = tokens(...Array.from({ length: 65 }, (_, i) => `t${i}`));
    expect(ablatedToken(facts("encoder", stack("self", long)), null)).toBe(64);
    expect(ablatedToken(facts("encoder", stack("self", long)), 7)).toBe(7);
    expect(ablatedToken(facts("encoder", stack("self", long.slice(1))), 7)).toBeNull();
    expect(ablatedToken(facts("decoder", stack("self", long)), 7)).toBeNull();
  });
});

describe("small numbers", () => {
  test("the temperature slider is logarithmic", () => {
    expect([temperatureOfSlider(0), temperatureOfSlider(1)]).toEqual([kLeast, kMost]);
    expect(temperatureOfSlider(sliderOfTemperature(1))).toBe(1);
    expect(temperatureOfSlider(0.5)).toBe(0.5);
  });

  test("the rest of the probability is never negative", () => {
    expect(restOf([{ probability: 0.5 }, { probability: 0.25 }])).toBe(0.25);
    expect(restOf([{ probability: 1 }, { probability: 1e-9 }])).toBe(0);
  });

  test("the visible range contains the current token", () => {
    expect(visibleRange(0, 10, null, 240)).toEqual([0, 10]);
    expect(visibleRange(0, 1000, 999, 240)).toEqual([760, 1000]);
    expect(visibleRange(0, 1000, 500, 240)).toEqual([380, 620]);
    expect(visibleRange(400, 1000, 500, 240)).toEqual([400, 640]);
    expect(visibleRange(-5, 1000, null, 240)).toEqual([0, 240]);
  });
});
