import { describe, expect, test } from "vitest";
import { commandOf } from "../../src/state/commandLine";
import type { Facts } from "../../src/api/facts";
import { FakeRecording } from "../fakeRecording";
import { kDefaultState } from "../../src/state/urlState";

const made = new FakeRecording("1", { name: "made-up", layers: 2, heads: 3, text: "The cat , it 's here ." });

const facts: Facts = { ...made.facts(), measures: ["raw", "value", "rollout"] };

describe("command lines", () => {
  const text = "--model made-up --text 'The cat , it '\\''s here .'";

  test("exist for trace, measures, hidden sinks and searches", () => {
    const matrix = { ...kDefaultState, view: "matrix" as const, layer: 1, head: 2, row: 3, column: 1 };
    expect(commandOf(facts, { ...matrix, view: "trace" })).toBe(
      `attnscope trace ${text} --layer 1 --head 2 --query 3 --key 1`,
    );
    expect(commandOf(facts, { ...matrix, measure: "value", withoutSinks: true })).toBe(
      `attnscope heatmap ${text} --measure value --layer 1 --head 2`,
    );
    expect(commandOf(facts, { ...matrix, withoutSinks: true })).toContain(
      "heatmap " + text + " --without-sinks --layer 1",
    );
    expect(commandOf(facts, { ...matrix, measure: "rollout" })).toBe(
      `attnscope rollout ${text} --layer 1 --scale sqrt`,
    );
    expect(commandOf(facts, { ...kDefaultState, withoutSinks: true })).toBe(`attnscope overview ${text}`);
    expect(commandOf(facts, { ...kDefaultState, pattern: "causal & window(2)" })).toBe(
      `attnscope find ${text} 'causal & window(2)'`,
    );
  });

  test("do not exist for what only the page can show", () => {
    expect(commandOf(facts, { ...kDefaultState, view: "trace" })).toBeNull();
    expect(commandOf(facts, { ...kDefaultState, view: "trace", row: 1, column: 1, words: true })).toBeNull();
    expect(commandOf(facts, { ...kDefaultState, pattern: "table(10,01)" })).toBeNull();
  });
});
