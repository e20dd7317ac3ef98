import { describe, expect, test } from "vitest";
import { commandOf, quoted } from "../../src/state/commandLine";
import { kDefaultState, type UrlState } from "../../src/state/urlState";
import { FakeRecording } from "../fakeRecording";

const facts = new FakeRecording("1", { name: "tiny", layers: 2, heads: 3, text: "it's a cat ." }).facts();

describe("the command line", () => {
  test("names the model, the text and the head, quoted for a shell", () => {
    expect(commandOf(facts, { ...kDefaultState, view: "matrix", layer: 1, head: 2 })).toBe(
      `attnscope heatmap --model tiny --text 'it'\\''s a cat .' --layer 1 --head 2`,
    );
  });

  test("has all heads of the head view and its threshold", () => {
    const place: UrlState = { ...kDefaultState, view: "heads", layer: 1, head: 2, others: [{ layer: 1, head: 0 }] };
    expect(commandOf(facts, place)).toContain("headview");
    expect(commandOf(facts, place)).toContain("--layer 1 --heads 2,0 --threshold 0.02");
  });

  test("is null if no command draws the same", () => {
    expect(commandOf({ ...facts, model: null }, kDefaultState)).toBeNull();
    const pair = new FakeRecording("1", { name: "tiny", layers: 1, heads: 1, text: "a cat | a dog" }).facts();
    expect(commandOf(pair, kDefaultState)).toBeNull();
  });

  test("has both texts of a pair", () => {
    const pair = new FakeRecording("1", { name: "tiny", layers: 1, heads: 1, text: "a cat | a dog" }).facts();
    expect(commandOf({ ...pair, text: "a cat", pair: "a dog" }, kDefaultState)).toBe(
      "attnscope overview --model tiny --text 'a cat' --pair 'a dog'",
    );
  });

  test("leaves plain words as they are", () => expect(quoted("tiny-bert")).toBe("tiny-bert"));
});
