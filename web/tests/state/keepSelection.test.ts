import { describe, expect, test } from "vitest";
import { keepSelection, tokenMap } from "../../src/state/keepSelection";
import type { Token } from "../../src/api/facts";
import { kDefaultState } from "../../src/state/urlState";
import { FakeRecording } from "../fakeRecording";

const token = (text: string, sequence = 0): Token => ({ text, special: /^\[.*\]$/.test(text), word: null, sequence });

const tokens = (...texts: string[]): Token[] => texts.map((text) => token(text));

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
