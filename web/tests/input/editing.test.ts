import { describe, expect, test } from "vitest";
import { carried, moved } from "../../src/state/carry";
import { commandOf } from "../../src/api/command";
import {
  answered,
  continued,
  exchanged,
  filled,
  fixed,
  isShort,
  joinTokens,
  kept,
  spans,
  withModel,
  withText,
} from "../../src/input/editing";
import type { Facts, ModelFacts, Step, Token } from "../../src/api/facts";
import { compact, generateOf, generateText, type Origin, originAt, placeOf, sameOrigin } from "../../src/api/origin";
import { kStart } from "../../src/state/place";
import { MadeUp } from "../specimen";

const token = (text: string, sequence = 0): Token => ({ text, special: /^\[.*\]$/.test(text), word: null, sequence });
const tokens = (...texts: string[]): Token[] => texts.map((text) => token(text));
const origin: Origin = { model: "tiny-bert", text: "The cat [MASK] on the [MASK].", pair: "It is <mask>." };
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
const step = (text: string): Step => ({ id: 1, text, probability: 0.5, choices: [], entropy: 1 });

describe("an origin", () => {
  test("goes into the address and comes back", () => {
    const all: Origin = {
      ...origin,
      mask: "causal",
      off: [{ kind: "cross", layer: 1, head: 2 }],
      generate: { tokens: 20, temperature: 0.8, top_k: 5, top_p: 0.9, seed: 7 },
    };
    expect(originAt({ ...kStart, ...placeOf(all) })).toEqual(all);
    expect(generateOf(generateText(all.generate))).toEqual(all.generate);
    expect(originAt(kStart)).toBeNull();
  });

  test("is the same whatever is empty in it", () => {
    const empty = { ...origin, target: null, mask: "", off: [], generate: null };
    expect(sameOrigin(empty, origin)).toBe(true);
    expect(compact(empty)).toEqual(origin);
    expect(sameOrigin(origin, { ...origin, text: "The" })).toBe(false);
  });

  test("loses what was written for another text or model", () => {
    const answer = { ...origin, target: "le chat", generate: generateOf("5,0,0,1,0") };
    expect(compact(withText(answer, "A dog"))).toEqual({ model: "tiny-bert", text: "A dog", pair: origin.pair });
    const off = [{ kind: "self" as const, layer: 3, head: 3 }];
    expect(compact(withModel({ ...answer, off }, model("decoder")))).toEqual({ model: "other", text: origin.text });
    expect(withModel(answer, model("encoder")).pair).toBe(origin.pair);
  });
});

describe("words that are put into a text", () => {
  test("fill the gap they are for, in the second text too", () => {
    expect(filled(origin, 0, "sat")!.text).toBe("The cat sat on the [MASK].");
    expect(filled(origin, 1, " mat")!.text).toBe("The cat [MASK] on the mat.");
    expect(filled(origin, 1, "##s")!.text).toBe("The cat [MASK] on thes.");
    expect(filled(origin, 2, "red")!.pair).toBe("It is red.");
    expect(filled(origin, 3, "red")).toBeNull();
  });

  test("take the place of a token where that can be found", () => {
    const read = tokens("[CLS]", "the", "un", "##able", "cafe", "sat", ".", "[SEP]");
    const text = "The unable café sat.";
    expect(spans(text, read, 0)).toEqual([null, [0, 3], [4, 6], [6, 10], null, [16, 19], [19, 20], null]);
    expect(exchanged({ model: "m", text }, read, 5, "ran")!.text).toBe("The unable café ran.");
    expect(exchanged({ model: "m", text }, read, 4, "tea")).toBeNull();
    expect(exchanged({ model: "m", text }, read, 0, "tea")).toBeNull();
  });

  test("go behind it with the spaces that they have, or need", () => {
    expect(continued("The", { text: " cat" }, tokens("The", " dog"))).toBe("The cat");
    expect(continued("The ca", { text: "t" }, tokens("The", " ca"))).toBe("The cat");
    expect(continued("the", { text: "cat" }, tokens("the", "dog"))).toBe("the cat");
    expect(joinTokens(["un", "##able", "cat", "."])).toBe("unable cat.");
    expect(joinTokens(["The", " cat", "."])).toBe("The cat.");
  });

  test("become part of an answer from its beginning", () => {
    const said = [token("[BOS]"), token("le"), token("chat")];
    const choice = { id: 3, text: "chien", probability: 0.2 };
    expect(answered({ model: "m", text: "the cat" }, said, 1, choice).target).toBe("le chien");
    expect(answered({ model: "m", text: "the cat" }, said, 0, choice).target).toBe("chien");
  });

  test("are kept when generation was stopped", () => {
    const begun = { model: "m", text: "Once", generate: generateOf("5,0,0,1,0") };
    expect(compact(kept(begun, [step(" upon"), step(" a")], "decoder"))).toEqual({ model: "m", text: "Once upon a" });
    expect(kept(begun, [step("il"), step("est")], "encoder-decoder").target).toBe("il est");
  });

  test("short ones fit a single line", () => {
    expect(isShort("a cat")).toBe(true);
    expect(isShort("a\ncat")).toBe(false);
    expect(isShort("a".repeat(301))).toBe(false);
  });
});

describe("what is held when the text changes", () => {
  test("are the tokens that are still the same", () => {
    const to = moved(
      tokens("[CLS]", "a", "cat", "sat", "[SEP]"),
      tokens("[CLS]", "a", "big", "old", "cat", "sat", "[SEP]"),
    );
    expect([0, 1, 2, 3, 4].map(to)).toEqual([0, 1, 4, 5, 6]);
    const other = moved(tokens("a", "b", "c"), tokens("a", "x", "c"));
    expect([0, 1, 2].map(other)).toEqual([0, null, 2]);
    expect([0, 1, 2, 3].map(moved(tokens("a", "a", "a"), tokens("a", "a")))).toEqual([0, 1, null, null]);
  });

  test("rows, columns and pins go with them", () => {
    const facts = (text: string) => new MadeUp("1", { name: "m", layers: 1, heads: 1, text }).facts();
    const before = facts("the cat sat");
    const after = facts("the old cat sat");
    const shift = after.stacks[0].queries - before.stacks[0].queries;
    const last = before.stacks[0].queries - 1;
    const place = { ...kStart, row: 0, column: last, pins: [0, last], window: { x: 99, y: 0, scale: 2 }, step: 3 };
    expect(carried(place, before, after)).toMatchObject({
      row: 0,
      column: last + shift,
      pins: [0, last + shift],
      window: null,
      step: null,
    });
  });
});

describe("the command for words", () => {
  const made = new MadeUp("1", { name: "tiny", layers: 2, heads: 3, text: "it's a cat ." }).facts();
  const facts = (origin: Partial<Origin>, more: Partial<ModelFacts> = {}): Facts => ({
    ...made,
    model: { name: "tiny", type: "t", ...more },
    origin: { model: "tiny", text: made.text, ...origin },
  });

  test("generates, fills gaps or names labels", () => {
    const place = { ...kStart, view: "text" as const };
    const generate = { tokens: 20, temperature: 0.8, top_k: 5, top_p: 0.9, seed: 7 };
    expect(commandOf(facts({ generate }), place)).toBe(
      "attnscope generate --model tiny --prompt 'it'\\''s a cat .' --tokens 20 --temperature 0.8 --seed 7 --top-k 5 --top-p 0.9",
    );
    const gaps = facts({}, { fills: true });
    expect(commandOf(gaps, place)).toBeNull();
    const [first, ...rest] = gaps.stacks;
    const masked = { ...gaps, stacks: [{ ...first, query_tokens: tokens("[CLS]", "[MASK]") }, ...rest] };
    expect(commandOf(masked, place)).toBe("attnscope fill --model tiny --text 'it'\\''s a cat .' --top 10");
    expect(commandOf(masked, { ...place, temperature: 2 })).toBeNull();
    expect(commandOf(facts({}, { labels: ["a", "b"] }), place)).toContain("attnscope classify --model tiny");
  });

  test("switches heads off, or ranks them all", () => {
    const place = { ...kStart, view: "ablate" as const };
    const off = [
      { kind: "self" as const, layer: 0, head: 1 },
      { kind: "cross" as const, layer: 1, head: 0 },
    ];
    expect(commandOf(facts({ off, target: "un chat" }), place)).toBe(
      "attnscope ablate --model tiny --text 'it'\\''s a cat .' --target 'un chat' --head 0.1 --head cross:1.0",
    );
    expect(commandOf(facts({}), place)).toMatch(/ --all$/);
    expect(commandOf(facts({ mask: "causal" }), place)).toBeNull();
  });

  test("is not there for pictures of a text that is not read as usual", () => {
    for (const origin of [
      { mask: "causal" },
      { off: [{ kind: "self" as const, layer: 0, head: 0 }] },
      { generate: generateOf("5,0,0,1,0") },
    ]) {
      expect(commandOf(facts(origin), kStart)).toBeNull();
    }
    expect(commandOf(facts({}), kStart)).toContain("attnscope overview");
  });

  test("what was generated can be read as a text of its own", () => {
    const begun = facts({ generate: generateOf("2,0,0,1,0") }, { form: "decoder" });
    expect(fixed({ ...begun, generated: { from: 3, steps: [step(" sat"), step(" down")] } })).toMatchObject({
      text: made.text + " sat down",
      generate: null,
    });
  });
});
