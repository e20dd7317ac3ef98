import { expect, test, describe } from "vitest";
import {
  withPinnedCell,
  kDefaultState,
  fromHash,
  headsAt,
  type UrlState,
  validState,
  toHash,
} from "../../src/state/urlState";
import { FakeRecording } from "../fakeRecording";

test("the pinned token stays from the head view to the matrix", () => {
  const lines = { ...kDefaultState, view: "heads" as const, pins: [4] };
  expect(withPinnedCell(lines, { view: "matrix" })).toEqual({ row: 4 });
  expect(withPinnedCell({ ...lines, side: "key" }, { view: "matrix" })).toEqual({ column: 4 });
  expect(withPinnedCell({ ...lines, pins: [4, 5] }, { view: "matrix" })).toEqual({});
  expect(withPinnedCell({ ...lines, row: 1, column: 2 }, { view: "matrix" })).toEqual({});
  expect(withPinnedCell(lines, { head: 3 })).toEqual({});
});

const kElsewhere: UrlState = {
  view: "heads",
  model: "tiny-bert",
  text: "1 & 2, ü = 100%?\nthe end",
  pair: "",
  target: "",
  mask: "causal & window(2)",
  off: [
    { kind: "self", layer: 0, head: 1 },
    { kind: "cross", layer: 1, head: 0 },
  ],
  generate: "20,0.8,0,1,7",
  kind: "cross",
  layer: 3,
  head: 7,
  others: [
    { layer: 3, head: 8 },
    { layer: 11, head: 0 },
  ],
  row: 5,
  column: 0,
  pins: [1, 4, 9],
  side: "key",
  rule: "top",
  threshold: 0.05,
  top: 8,
  sentences: "AB",
  measure: "value",
  temperature: 0.7,
  step: 3,
  pattern: "offset(-3)",
  modelB: "tiny-gpt",
  textB: "b",
  pairB: "c",
  maskB: "causal",
  offB: [{ kind: "self", layer: 2, head: 1 }],
  draft: "~causal",
  size: 4096,
  sort: "entropy",
  type: "previous token",
  words: true,
  withoutSinks: true,
  fit: true,
  map: "cividis",
  window: { x: 12.5, y: 0, scale: 40 },
};

const facts = new FakeRecording("1", { name: "tiny", layers: 2, heads: 3, text: "it's a cat ." }).facts();

describe("the URL state", () => {
  test("is read as it was written", () => {
    expect(fromHash(toHash(kElsewhere))).toEqual(kElsewhere);
    expect(fromHash(toHash(kDefaultState))).toEqual(kDefaultState);
  });

  test("contains only what differs from the default", () => {
    expect(toHash(kDefaultState)).toBe("#view=overview");
    expect(toHash({ ...kDefaultState, view: "matrix", layer: 1, head: 2 })).toBe("#view=matrix&layer=1&head=2");
  });

  test.each([
    "#view=nothing&layer=-1&head=x&threshold=2&window=a,b,c&pins=1,x&others=1",
    "#__proto__=1&=&&",
    "#%",
    "#layer=99999999999",
  ])("is the usual one where %s cannot be understood", (hash) => expect(fromHash(hash)).toEqual(kDefaultState));

  test("keeps only heads and tokens that the recording has", () => {
    const place = validState(
      {
        ...kElsewhere,
        others: [
          { layer: 1, head: 2 },
          { layer: 5, head: 0 },
        ],
        pins: [1, 400],
      },
      facts,
    );
    expect(place).toMatchObject({ kind: "self", layer: 0, head: 0, others: [{ layer: 1, head: 2 }], pins: [1] });
    expect(headsAt(place)).toHaveLength(2);
  });
});
