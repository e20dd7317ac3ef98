import { describe, expect, test } from "vitest";
import { commandOf } from "../../src/state/commandLine";
import { type Facts, type ModelFacts, type Step, type Token } from "../../src/api/facts";
import { kDefaultState } from "../../src/state/urlState";
import { FakeRecording } from "../fakeRecording";
import { withoutGeneration } from "../../src/input/textEditing";
import { parseGenerate, type RecordRequest } from "../../src/api/recordRequest";

const token = (text: string, sequence = 0): Token => ({ text, special: /^\[.*\]$/.test(text), word: null, sequence });

const tokens = (...texts: string[]): Token[] => texts.map((text) => token(text));

const step = (text: string): Step => ({ id: 1, text, probability: 0.5, choices: [], entropy: 1 });

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
