import { describe, expect, it } from "vitest";
import { unpaired, alignTokens, requestB, partnerIndices, stateOfB, rowDifferences } from "../../src/api/comparison";
import type { RecordRequest } from "../../src/api/recordRequest";
import { kDefaultState } from "../../src/state/urlState";

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
