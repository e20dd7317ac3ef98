import { describe, expect, test } from "vitest";
import { blankPicture, errorColumn, parsePicture, searchBody, similarities } from "../../src/api/headSearch";
import { maskTable } from "../../src/input/maskEditing";
import { fromHash, kDefaultState, toHash } from "../../src/state/urlState";

describe("a search for heads", () => {
  test("keeps a painted picture in the URL and sends it as numbers", () => {
    const text = "table(100,010,001)";
    expect(maskTable(parsePicture(text)!)).toBe(text);
    expect(fromHash(toHash({ ...kDefaultState, pattern: text })).pattern).toBe(text);
    expect(searchBody("table(10,01)", "self")).toEqual({
      picture: [
        [1, 0],
        [0, 1],
      ],
      kind: "self",
    });
    expect(searchBody("causal & window(2)", "cross")).toEqual({ pattern: "causal & window(2)", kind: "cross" });
    for (const other of ["table(10,1)", "table(12)", "table()", "previous"]) expect(parsePicture(other)).toBeNull();
    expect(blankPicture().bytes.every((b) => b === 0)).toBe(true);
  });

  test("maps similarities to heads, and errors to columns", () => {
    const heads = [{ kind: "self" as const, layer: 1, head: 0, similarity: 0.75 }];
    expect(similarities({ pattern: "same", heads }).get("self/1/0")).toBe(0.75);
    expect(errorColumn({ message: "mask: column 10: unknown name 'windw'" })).toBe(10);
    expect(errorColumn({ message: "x", column: 3 })).toBe(3);
    expect(errorColumn({ message: "nothing" })).toBeNull();
  });
});
