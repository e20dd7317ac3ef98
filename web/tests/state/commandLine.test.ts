import { describe, expect, it } from "vitest";
import { commandOf } from "../../src/state/commandLine";
import type { Facts } from "../../src/api/facts";
import { kDefaultState, type UrlState } from "../../src/state/urlState";
import { FakeRecording } from "../fakeRecording";
import type { RecordRequest } from "../../src/api/recordRequest";

const made = (causal: boolean) =>
  new FakeRecording("1", { name: "tiny", layers: 4, heads: 4, text: "a cat", causal }).facts();

const facts = (origin: Partial<RecordRequest> = {}, causal = false): Facts => ({
  ...made(causal),
  origin: { model: "tiny", text: "a cat", ...origin },
});

describe("the command that compares", () => {
  const place: UrlState = { ...kDefaultState, view: "compare", layer: 1, head: 2, modelB: "tiny", textB: "a dog" };

  it("names two texts of one model, or two models of one text", () => {
    expect(commandOf(facts(), place)).toBe("attnscope compare 'a cat' 'a dog' --model tiny --layer 1 --head 2");
    expect(commandOf(facts(), { ...place, modelB: "other", textB: "a cat" })).toBe(
      "attnscope compare tiny other --text 'a cat' --layer 1 --head 2",
    );
    expect(commandOf(facts({ target: "un" }), place)).toContain(" --target un ");
  });

  it("is null for what only the page can compare", () => {
    const off = [{ kind: "self" as const, layer: 0, head: 0 }];
    expect(commandOf(facts(), { ...place, modelB: "" })).toBeNull();
    expect(commandOf(facts(), { ...place, modelB: "other" })).toBeNull();
    expect(commandOf(facts(), { ...place, textB: "a cat" })).toBeNull();
    expect(commandOf(facts(), { ...place, pairB: "more" })).toBeNull();
    expect(commandOf(facts(), { ...place, maskB: "causal" })).toBeNull();
    expect(commandOf(facts(), { ...place, words: true })).toBeNull();
    expect(commandOf(facts({ off }), place)).toBeNull();
  });
});

describe("the command that draws a mask", () => {
  const place: UrlState = { ...kDefaultState, view: "masks", draft: "window(2) | global(1)" };

  it("draws it for the text's tokens, or for a chosen size", () => {
    const { queries } = made(false).stacks[0];
    expect(commandOf(facts(), place)).toBe(`attnscope mask 'window(2) | global(1)' --size ${queries}`);
    expect(commandOf(facts(), { ...place, size: 64 })).toMatch(/ --size 64$/);
    expect(commandOf(facts(), { ...place, size: 5000 })).toBeNull();
    expect(commandOf(facts(), { ...place, words: true })).toBeNull();
  });

  it("includes the model's own rule", () => {
    expect(commandOf(facts({ mask: "window(1)" }), { ...place, draft: "" })).toMatch(/^attnscope mask 'window\(1\)' /);
    expect(commandOf(facts(), { ...place, draft: "" })).toMatch(/^attnscope mask everything /);
    expect(commandOf(facts({}, true), place)).toMatch(/^attnscope mask 'causal & \(window\(2\) \| global\(1\)\)' /);
  });
});
