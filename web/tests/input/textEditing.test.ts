import { describe, expect, test } from "vitest";
import {
  extendAnswer,
  appendToken,
  replaceToken,
  fillGap,
  fitsOneLine,
  joinTokens,
  keepGenerated,
  tokenSpans,
} from "../../src/input/textEditing";
import { type Step, type Token } from "../../src/api/facts";
import { compact, parseGenerate, type RecordRequest } from "../../src/api/recordRequest";

const token = (text: string, sequence = 0): Token => ({ text, special: /^\[.*\]$/.test(text), word: null, sequence });

const tokens = (...texts: string[]): Token[] => texts.map((text) => token(text));

const origin: RecordRequest = { model: "tiny-bert", text: "The cat [MASK] on the [MASK].", pair: "It is <mask>." };

const step = (text: string): Step => ({ id: 1, text, probability: 0.5, choices: [], entropy: 1 });

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
