import { describe, expect, test } from "vitest";
import { type Facts, type HeadName, type ModelFacts, type Stack, type Token } from "../../src/api/facts";
import { isOff, isLayerOff, toggleLayer, toggleHead, withHeadsOff } from "../../src/state/headSwitches";

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

describe("switches", () => {
  const self = stack("self", tokens("a"));
  const head = (layer: number, head: number): HeadName => ({ kind: "self", layer, head });

  test("toggle heads, always in the same order", () => {
    const off = toggleHead(toggleHead([], head(1, 0)), head(0, 2));
    expect(off).toEqual([head(0, 2), head(1, 0)]);
    expect(isOff(off, head(1, 0))).toBe(true);
    expect(toggleHead(off, head(1, 0))).toEqual([head(0, 2)]);
  });

  test("toggle a whole layer", () => {
    const off = toggleLayer([head(0, 1), head(1, 1)], self, 1);
    expect(off).toEqual([head(0, 1), head(1, 0), head(1, 1), head(1, 2)]);
    expect(isLayerOff(off, self, 1)).toBe(true);
    expect(isLayerOff(off, self, 0)).toBe(false);
    expect(toggleLayer(off, self, 1)).toEqual([head(0, 1)]);
  });

  test("keep everything else of the request", () => {
    expect(withHeadsOff(facts("encoder", self), [head(0, 1)])).toMatchObject({
      model: "m",
      text: "t",
      off: [head(0, 1)],
    });
  });
});
