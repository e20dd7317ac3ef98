import { describe, expect, test } from "vitest";
import { withModel, withText } from "../../src/input/textEditing";
import type { ModelFacts } from "../../src/api/facts";
import {
  compact,
  parseGenerate,
  formatGenerate,
  type RecordRequest,
  requestAt,
  stateOfRequest,
  sameRequest,
} from "../../src/api/recordRequest";
import { kDefaultState } from "../../src/state/urlState";

const origin: RecordRequest = { model: "tiny-bert", text: "The cat [MASK] on the [MASK].", pair: "It is <mask>." };

const model = (form: ModelFacts["form"]): ModelFacts => ({
  name: "other",
  type: "t",
  form,
  layers: 1,
  heads: 1,
  decoder_layers: 0,
  max_tokens: 0,
  fills: false,
  continues: true,
  labels: [],
});

describe("a record request", () => {
  test("survives the URL", () => {
    const all: RecordRequest = {
      ...origin,
      mask: "causal",
      off: [{ kind: "cross", layer: 1, head: 2 }],
      generate: { tokens: 20, temperature: 0.8, top_k: 5, top_p: 0.9, seed: 7 },
    };
    expect(requestAt({ ...kDefaultState, ...stateOfRequest(all) })).toEqual(all);
    expect(parseGenerate(formatGenerate(all.generate))).toEqual(all.generate);
    expect(requestAt(kDefaultState)).toBeNull();
  });

  test("is equal whichever members are empty", () => {
    const empty = { ...origin, target: null, mask: "", off: [], generate: null };
    expect(sameRequest(empty, origin)).toBe(true);
    expect(compact(empty)).toEqual(origin);
    expect(sameRequest(origin, { ...origin, text: "The" })).toBe(false);
  });

  test("drops what belongs to another text or model", () => {
    const answer = { ...origin, target: "le chat", generate: parseGenerate("5,0,0,1,0") };
    expect(compact(withText(answer, "A dog"))).toEqual({ model: "tiny-bert", text: "A dog", pair: origin.pair });
    const off = [{ kind: "self" as const, layer: 3, head: 3 }];
    expect(compact(withModel({ ...answer, off }, model("decoder")))).toEqual({ model: "other", text: origin.text });
    expect(withModel(answer, model("encoder")).pair).toBe(origin.pair);
  });
});
