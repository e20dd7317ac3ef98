import { describe, expect, test } from "vitest";
import { keepSelection, tokenMap } from "../../src/state/keepSelection";
import { commandOf } from "../../src/state/commandLine";
import {
  extendAnswer,
  appendToken,
  replaceToken,
  fillGap,
  withoutGeneration,
  fitsOneLine,
  joinTokens,
  keepGenerated,
  tokenSpans,
  withModel,
  withText,
} from "../../src/input/textEditing";
import type { Facts, ModelFacts, Step, Token } from "../../src/api/facts";
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
import { FakeRecording } from "../fakeRecording";

const token = (text: string, sequence = 0): Token => ({ text, special: /^\[.*\]$/.test(text), word: null, sequence });
const tokens = (...texts: string[]): Token[] => texts.map((text) => token(text));
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
const step = (text: string): Step => ({ id: 1, text, probability: 0.5, choices: [], entropy: 1 });

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

describe("words put into a text", () => {
  test("fill the gap they are for, in the second text too", () => {
    expect(fillGap(origin, 0, "sat")!.text).toBe("The cat sat on the [MASK].");
    expect(fillGap(origin, 1, " mat")!.text).toBe("The cat [MASK] on the mat.");
    expect(fillGap(origin, 1, "##s")!.text).toBe("The cat [MASK] on thes.");
    expect(fillGap(origin, 2, "red")!.pair).toBe("It is red.");
    expect(fillGap(origin, 3, "red")).toBeNull();
  });

  test("replace a token if it is found in the text", () => {
    const read = tokens("[CLS]", "the", "un", "##able", "cafe", "sat", ".", "[SEP]");
    const text = "The unable café sat.";
    expect(tokenSpans(text, read, 0)).toEqual([null, [0, 3], [4, 6], [6, 10], null, [16, 19], [19, 20], null]);
    expect(replaceToken({ model: "m", text }, read, 5, "ran")!.text).toBe("The unable café ran.");
    expect(replaceToken({ model: "m", text }, read, 4, "tea")).toBeNull();
    expect(replaceToken({ model: "m", text }, read, 0, "tea")).toBeNull();
  });

  test("are appended with the spaces that they have, or need", () => {
    expect(appendToken("The", { text: " cat" }, tokens("The", " dog"))).toBe("The cat");
    expect(appendToken("The ca", { text: "t" }, tokens("The", " ca"))).toBe("The cat");
    expect(appendToken("the", { text: "cat" }, tokens("the", "dog"))).toBe("the cat");
    expect(joinTokens(["un", "##able", "cat", "."])).toBe("unable cat.");
    expect(joinTokens(["The", " cat", "."])).toBe("The cat.");
  });

  test("become part of an answer from its beginning", () => {
    const said = [token("[BOS]"), token("le"), token("chat")];
    const choice = { id: 3, text: "chien", probability: 0.2 };
    expect(extendAnswer({ model: "m", text: "the cat" }, said, 1, choice).target).toBe("le chien");
    expect(extendAnswer({ model: "m", text: "the cat" }, said, 0, choice).target).toBe("chien");
  });

  test("are kept when generation was stopped", () => {
    const begun = { model: "m", text: "Once", generate: parseGenerate("5,0,0,1,0") };
    expect(compact(keepGenerated(begun, [step(" upon"), step(" a")], "decoder"))).toEqual({
      model: "m",
      text: "Once upon a",
    });
    expect(keepGenerated(begun, [step("il"), step("est")], "encoder-decoder").target).toBe("il est");
  });

  test("short ones fit a single line", () => {
    expect(fitsOneLine("a cat")).toBe(true);
    expect(fitsOneLine("a\ncat")).toBe(false);
    expect(fitsOneLine("a".repeat(301))).toBe(false);
  });
});

describe("the selection after a change of text", () => {
  test("follows tokens that are still the same", () => {
    const to = tokenMap(
      tokens("[CLS]", "a", "cat", "sat", "[SEP]"),
      tokens("[CLS]", "a", "big", "old", "cat", "sat", "[SEP]"),
    );
    expect([0, 1, 2, 3, 4].map(to)).toEqual([0, 1, 4, 5, 6]);
    const other = tokenMap(tokens("a", "b", "c"), tokens("a", "x", "c"));
    expect([0, 1, 2].map(other)).toEqual([0, null, 2]);
    expect([0, 1, 2, 3].map(tokenMap(tokens("a", "a", "a"), tokens("a", "a")))).toEqual([0, 1, null, null]);
  });

  test("includes row, column and pins", () => {
    const facts = (text: string) => new FakeRecording("1", { name: "m", layers: 1, heads: 1, text }).facts();
    const before = facts("the cat sat");
    const after = facts("the old cat sat");
    const shift = after.stacks[0].queries - before.stacks[0].queries;
    const last = before.stacks[0].queries - 1;
    const place = {
      ...kDefaultState,
      row: 0,
      column: last,
      pins: [0, last],
      window: { x: 99, y: 0, scale: 2 },
      step: 3,
    };
    expect(keepSelection(place, before, after)).toMatchObject({
      row: 0,
      column: last + shift,
      pins: [0, last + shift],
      window: null,
      step: null,
    });
  });
});

describe("the command for words", () => {
  const made = new FakeRecording("1", { name: "tiny", layers: 2, heads: 3, text: "it's a cat ." }).facts();
  const facts = (origin: Partial<RecordRequest>, more: Partial<ModelFacts> = {}): Facts => ({
    ...made,
    model: { name: "tiny", type: "t", ...more },
    origin: { model: "tiny", text: made.text, ...origin },
  });

  test("generates, fills gaps or names labels", () => {
    const place = { ...kDefaultState, view: "text" as const };
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
    const place = { ...kDefaultState, view: "ablate" as const };
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

  test("does not exist for figures under conditions", () => {
    for (const origin of [
      { mask: "causal" },
      { off: [{ kind: "self" as const, layer: 0, head: 0 }] },
      { generate: parseGenerate("5,0,0,1,0") },
    ]) {
      expect(commandOf(facts(origin), kDefaultState)).toBeNull();
    }
    expect(commandOf(facts({}), kDefaultState)).toContain("attnscope overview");
  });

  test("a generated text becomes a plain request", () => {
    const begun = facts({ generate: parseGenerate("2,0,0,1,0") }, { form: "decoder" });
    expect(withoutGeneration({ ...begun, generated: { from: 3, steps: [step(" sat"), step(" down")] } })).toMatchObject(
      {
        text: made.text + " sat down",
        generate: null,
      },
    );
  });
});
