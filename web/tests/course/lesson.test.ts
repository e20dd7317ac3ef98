import { describe, expect, test } from "vitest";
import {
  sliderPosition,
  areWeights,
  changedCells,
  completed,
  digitsOf,
  fromAddress,
  hasWideRange,
  type LessonArray,
  type Made,
  matrixOf,
  type Nested,
  numberText,
  type Setting,
  sourceOf,
  sumText,
  toAddress,
  valueAtSlider,
} from "../../src/course/content/lesson";
import { prose } from "../../src/course/content/prose";

function array(numbers: Nested, made: Made = { by: "given" }): LessonArray {
  const shape: number[] = [];
  for (let part = numbers; Array.isArray(part); part = part[0]) shape.push(part.length);
  return { shape, numbers, made };
}

describe("the inputs of a number", () => {
  const arrays = {
    A: array([
      [1, 2, 3],
      [4, 5, 6],
    ]),
    B: array([
      [1, 0],
      [0, 1],
      [2, 2],
    ]),
    P: array(
      [
        [7, 8],
        [16, 17],
      ],
      { by: "product", left: "A", right: "B" },
    ),
    C: array([[1, 0, 1]]),
    T: array([[4], [10]], { by: "transposed", left: "A", right: "C" }),
    S: array(
      [
        [0.1, 0.2, 0.7],
        [0.3, 0.3, 0.4],
      ],
      { by: "rows", left: "A" },
    ),
    E: array([[2, 4, 6]], { by: "each", left: "A", right: "C" }),
    heads: array([[[1, 2]], [[3, 4]]]),
    weights: array([[[11]], [[25]]], { by: "transposed", left: "heads", right: "heads" }),
  };

  test("of a product: a row of the left, a column of the right", () => {
    const source = sourceOf(arrays, "P", [1, 0]);
    expect(source.parts).toEqual([
      {
        name: "A",
        cells: [
          [1, 0],
          [1, 1],
          [1, 2],
        ],
      },
      {
        name: "B",
        cells: [
          [0, 0],
          [1, 0],
          [2, 0],
        ],
      },
    ]);
    expect(sumText(source, 16)).toBe("4·1 + 5·0 + 6·2 = 16");
  });

  test("of a product with a transposed table: rows of both", () => {
    const source = sourceOf(arrays, "T", [1, 0]);
    expect(source.parts.map(({ cells }) => cells[2])).toEqual([
      [1, 2],
      [0, 2],
    ]);
    expect(sumText(source, 10, 2)).toBe("4·1 + 5·0 + … = 10");
  });

  test("of softmax: the whole row; of what is done to each: the same cell", () => {
    expect(sourceOf(arrays, "S", [1, 2]).parts).toEqual([
      {
        name: "A",
        cells: [
          [1, 0],
          [1, 1],
          [1, 2],
        ],
      },
    ]);
    expect(sourceOf(arrays, "E", [0, 1]).parts.map(({ name }) => name)).toEqual(["A", "C"]);
  });

  test("of heads: within the same head", () => {
    const source = sourceOf(arrays, "weights", [1, 0, 0]);
    expect(source.parts[0].cells).toEqual([
      [1, 0, 0],
      [1, 0, 1],
    ]);
    expect(source.terms).toEqual([
      [3, 3],
      [4, 4],
    ]);
  });

  test("of an input array, or of arrays that do not fit: none", () => {
    expect(sourceOf(arrays, "A", [0, 0]).parts).toEqual([]);
    expect(sourceOf({ ...arrays, B: array([[1, 0]]) }, "P", [0, 0]).parts).toEqual([]);
    expect(sourceOf(arrays, "nothing", [0]).parts).toEqual([]);
  });
});

describe("numbers", () => {
  test("that JSON cannot represent are restored", () => {
    const told = {
      ...array([
        [0, null],
        [null, 1],
      ]),
      not_finite: ["-inf", "nan"],
    };
    expect(completed(told).numbers).toEqual([
      [0, -Infinity],
      [NaN, 1],
    ]);
  });

  test("of one array have equal decimal places", () => {
    expect(digitsOf([1, 2, -Infinity])).toBe(0);
    expect(digitsOf([0.5, 3])).toBe(4);
    expect(digitsOf([0.5, 1234])).toBe(1);
    expect(numberText(-0.5, 4)).toBe("−0.5000");
    expect(numberText(-1e9, 0)).toBe("−1e9");
    expect(numberText(1e-5, 4)).toBe("1e−5");
    expect(numberText(-Infinity, 0)).toBe("−∞");
  });

  test("of very different sizes have their own decimal places", () => {
    expect(hasWideRange([0.25, 16384])).toBe(true);
    expect(hasWideRange([0.25, 164, 0])).toBe(false);
    expect(hasWideRange([1, 16384])).toBe(false);
  });

  test("are weights if each row sums to 1", () => {
    expect(areWeights(array([[0.25, 0.75]]))).toBe(true);
    expect(areWeights(array([[0.25, 0.7]]))).toBe(false);
    expect(areWeights(array([[1, 0]]))).toBe(false);
    expect(
      areWeights(
        array([
          [0.5, 0.5],
          [0, 0],
        ]),
      ),
    ).toBe(true);
  });

  test("that changed are found by cell", () => {
    const [before, after] = [
      { a: array([[1, 2]]), b: array([1]) },
      { a: array([[1, 3]]), b: array([1, 2]) },
    ];
    expect([...changedCells(before, after)]).toEqual([["a", new Set(["0,1"])]]);
  });
});

describe("input", () => {
  const setting = (least: number, most: number, whole = true): Setting => ({
    name: "n",
    what: "",
    value: least,
    least,
    most,
    whole,
  });

  test.each([setting(1, 512), setting(0, 3), setting(0.05, 5, false), setting(2, 1e6, false), setting(0, 0)])(
    "goes along a slider from end to end: %o",
    (one) => {
      expect(valueAtSlider(one, 0)).toBe(one.least);
      expect(valueAtSlider(one, 1)).toBe(one.most);
      for (const value of [one.least, one.most]) expect(valueAtSlider(one, sliderPosition(one, value))).toBe(value);
    },
  );

  test("a wide range leaves room for small numbers", () => expect(valueAtSlider(setting(1, 512), 0.5)).toBe(31));

  test("a matrix is lines of numbers, or JSON", () => {
    expect(matrixOf("1 2\n3 −4")).toEqual([
      [1, 2],
      [3, -4],
    ]);
    expect(matrixOf("[[1, 2.5], [3, 4]]")).toEqual([
      [1, 2.5],
      [3, 4],
    ]);
    expect(matrixOf("1 2\n3")).toBeNull();
    expect(matrixOf("1 x")).toBeNull();
    expect(matrixOf("")).toBeNull();
  });

  test("is kept in the URL", () => {
    expect(toAddress("masks", { n: 8, rate: 0.5 })).toBe("#masks?n=8&rate=0.5");
    expect(fromAddress("#masks?n=8&rate=0.5&x=y")).toEqual({ name: "masks", settings: { n: 8, rate: 0.5 } });
    expect(fromAddress("")).toEqual({ name: "", settings: {} });
  });
});

describe("text", () => {
  const plain = (text: string, before?: string) => prose(text, before).filter(({ kind }) => kind === "text");

  test("sets names with an index, powers, roots and code", () => {
    expect(
      prose("W_q and d_model, K^T, sqrt(d_k), `a_b`, row_sums").map(({ kind, text, sub, sup }) => [
        kind,
        text,
        sub ?? sup,
      ]),
    ).toEqual([
      ["name", "W", "q"],
      ["text", " and ", undefined],
      ["name", "d", "model"],
      ["text", ", ", undefined],
      ["name", "K", "T"],
      ["text", ", ", undefined],
      ["text", "√", undefined],
      ["name", "d", "k"],
      ["text", ", ", undefined],
      ["code", "a_b", undefined],
      ["text", ", row_sums", undefined],
    ]);
  });

  test("marks the numbers that changed, and only those", () => {
    const marked = plain("0.25 of 1,024 is 7%", "0.25 of 512 is 8%").filter(({ changed }) => changed);
    expect(marked.map(({ text }) => text)).toEqual(["1,024", "7%"]);
    expect(plain("another 3", "text 4").some(({ changed }) => changed)).toBe(false);
  });
});
