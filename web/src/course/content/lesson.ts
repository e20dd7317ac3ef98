// Lessons in the server's JSON, and the inputs of each of their numbers.

export type Nested = number | null | Nested[];

export interface Made {
  by: "given" | "product" | "transposed" | "rows" | "each";
  left?: string;
  right?: string;
}

export interface LessonArray {
  shape: number[];
  numbers: Nested;
  not_finite?: string[]; // "-inf", "inf" and "nan", in the order of the nulls among the numbers
  rows?: string[];
  columns?: string[];
  made: Made;
}

export interface Block {
  what: "paragraph" | "formula" | "show" | "item" | "wrong" | "question";
  text: string;
  how?: string;
  measured?: boolean;
  tolerance?: number;
}

export interface Step {
  id: string;
  title: string;
  blocks: Block[];
}

export interface Setting {
  name: string;
  what: string;
  value: number;
  least: number;
  most: number;
  whole: boolean;
}

export type Datum = string | string[] | Nested[];
export type Data = Record<string, Datum>;
export type Settings = Record<string, number>;

export interface LessonName {
  name: string;
  title: string;
  line: string;
  minutes: number;
  before: string[];
}

export interface Lesson extends LessonName {
  language: string;
  settings: Setting[];
  steps: Step[];
  arrays: Record<string, LessonArray>;
  code: Record<string, { cpp?: string; python?: string }>;
  words: Record<string, string>;
  data: Data; // the input of the lesson
  figures: Record<string, string>; // SVG
}

export interface Checked {
  right: boolean;
  off_by: number;
}

// ---- numbers ----

const kNotFinite: Record<string, number> = { "-inf": -Infinity, inf: Infinity, nan: NaN };

// Restores numbers that JSON cannot represent.
export function completed(array: LessonArray): LessonArray {
  if (!array.not_finite) return array;
  const names = array.not_finite.values();
  const fill = (part: Nested): Nested =>
    Array.isArray(part) ? part.map(fill) : (part ?? kNotFinite[names.next().value ?? "nan"]);
  return { ...array, numbers: fill(array.numbers) };
}

// NaN where there is nothing.
export function numberAt(numbers: Nested, index: number[]): number {
  let part: Nested | undefined = numbers;
  for (const i of index) part = Array.isArray(part) ? part[i] : undefined;
  return typeof part === "number" ? part : NaN;
}

export function flat(numbers: Nested): number[] {
  if (!Array.isArray(numbers)) return [numbers ?? NaN];
  return numbers.flatMap(flat);
}

export function indicesOf(shape: number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, size) => all.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i])),
    [[]],
  );
}

export const shapeText = (shape: number[]): string => `[${shape.join(", ")}]`;

// The decimal places for all numbers of an array: four for small numbers.
export function digitsOf(numbers: number[]): number {
  const finite = numbers.filter((one) => Number.isFinite(one) && Math.abs(one) < 1e6);
  if (finite.every(Number.isInteger)) return 0;
  const largest = finite.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  return largest < 10 ? 4 : largest < 100 ? 3 : largest < 1000 ? 2 : 1;
}

// Whether numbers differ so much in size that each needs its own decimal places.
export function hasWideRange(numbers: number[]): boolean {
  const sizes = numbers.map(Math.abs).filter((size) => size > 0 && size < 1e6);
  const least = sizes.reduce((a, b) => Math.min(a, b), Infinity);
  return sizes.reduce((a, b) => Math.max(a, b), 0) > 1000 && least < 1;
}

export function numberText(value: number, digits: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 0.5 * 10 ** -digits))
    return value.toExponential(1).replace(".0e", "e").replace("e+", "e").replaceAll("-", "−");
  return value.toFixed(digits).replace("-", "−");
}

// Whether the rows of an array sum to 1: such arrays are tinted.
export function areWeights({ shape, numbers }: LessonArray): boolean {
  const width = shape[shape.length - 1];
  if (shape.length < 1 || width < 2) return false;
  const all = flat(numbers);
  if (!all.every((one) => one >= 0 && one <= 1.001) || all.every(Number.isInteger)) return false;
  for (let from = 0; from < all.length; from += width) {
    const sum = all.slice(from, from + width).reduce((a, b) => a + b, 0);
    if (sum !== 0 && Math.abs(sum - 1) > 0.002) return false;
  }
  return true;
}

// ---- inputs of a number ----

export interface Part {
  name: string;
  cells: number[][];
}

export interface Source {
  parts: Part[];
  terms: [number, number][]; // of a sum of products
}

const kNone: Source = { parts: [], terms: [] };

export function sourceOf(arrays: Record<string, LessonArray>, name: string, index: number[]): Source {
  const made = arrays[name]?.made;
  const left = arrays[made?.left ?? ""];
  const right = arrays[made?.right ?? ""];
  if (!made || !left || made.by === "given") return kNone;
  if (made.by === "each") {
    const same = [made.left!, ...(right ? [made.right!] : [])].filter((one) => isIn(arrays[one], index));
    return { parts: same.map((one) => ({ name: one, cells: [index] })), terms: [] };
  }
  if (index.length < 1) return kNone;
  const lead = index.slice(0, -2);
  const row = index.length > 1 ? index[index.length - 2] : index[0];
  const rowOf = (array: LessonArray, i: number) =>
    array.shape.length < 2
      ? lineOf(array, (t) => [t], 0)
      : lineOf(array, (t) => [...leadOf(array, lead), i, t], array.shape.length - 1);
  const leftCells = rowOf(left, row);
  if (made.by === "rows") return { parts: [{ name: made.left!, cells: leftCells }], terms: [] };
  if (!right || index.length < 2) return kNone;
  const column = index[index.length - 1];
  const rightCells =
    made.by === "transposed"
      ? rowOf(right, column)
      : lineOf(right, (t) => [...leadOf(right, lead), t, column], right.shape.length - 2);
  if (leftCells.length !== rightCells.length) return kNone;
  const terms = leftCells.map((cell, t): [number, number] => [
    numberAt(left.numbers, cell),
    numberAt(right.numbers, rightCells[t]),
  ]);
  return {
    parts: [
      { name: made.left!, cells: leftCells },
      { name: made.right!, cells: rightCells },
    ],
    terms,
  };
}

// A table for all, or one for each batch and head.
const leadOf = (array: LessonArray, lead: number[]): number[] => (array.shape.length === 2 ? [] : lead);

function lineOf(array: LessonArray, place: (t: number) => number[], axis: number): number[][] {
  const cells = Array.from({ length: array.shape[axis] ?? 0 }, (_, t) => place(t));
  return cells.every((cell) => isIn(array, cell)) ? cells : [];
}

const isIn = ({ shape }: LessonArray, index: number[]): boolean =>
  index.length === shape.length && index.every((i, axis) => i >= 0 && i < shape[axis]);

// "1·10 + 0·0 + … = 10"
export function sumText({ terms }: Source, value: number, most = 4): string {
  const digits = digitsOf([...terms.flat(), value]);
  const short = (one: number) => numberText(one, Math.min(digits, 3));
  const shownTerms = terms.slice(0, most).map(([a, b]) => `${short(a)}·${b < 0 ? `(${short(b)})` : short(b)}`);
  if (terms.length > most) shownTerms.push("…");
  return `${shownTerms.join(" + ")} = ${numberText(value, digits)}`;
}

export const cellKey = (index: number[]): string => index.join(",");

const kMostCompared = 20_000; // numbers of an array: of larger ones only a corner is shown

// Cells with changed numbers, per array; arrays of another shape are
// left out.
export function changedCells(
  before: Record<string, LessonArray>,
  after: Record<string, LessonArray>,
): Map<string, Set<string>> {
  const changed = new Map<string, Set<string>>();
  for (const [name, array] of Object.entries(after)) {
    const old = before[name];
    const size = array.shape.reduce((a, b) => a * b, 1);
    if (!old || size > kMostCompared || shapeText(old.shape) !== shapeText(array.shape)) continue;
    const [a, b] = [flat(old.numbers), flat(array.numbers)];
    const indices = a.some((one, n) => !Object.is(one, b[n])) ? indicesOf(array.shape) : [];
    const cells = indices.filter((_, n) => !Object.is(a[n], b[n])).map(cellKey);
    if (cells.length) changed.set(name, new Set(cells));
  }
  return changed;
}

// ---- inputs of the reader ----

// Slider positions from 0 to 1; logarithmic for wide ranges.
const isWide = ({ least, most }: Setting): boolean => least >= 0 && most - least >= 100;
export const isSeed = ({ most }: Setting): boolean => most > 1e8;

export function sliderPosition(setting: Setting, value: number): number {
  const { least, most } = setting;
  if (!isWide(setting)) return most > least ? (value - least) / (most - least) : 0;
  return Math.log((value + 1) / (least + 1)) / Math.log((most + 1) / (least + 1));
}

export function valueAtSlider(setting: Setting, along: number): number {
  const { least, most, whole } = setting;
  const value = isWide(setting)
    ? (least + 1) * ((most + 1) / (least + 1)) ** along - 1
    : least + (most - least) * along;
  const rounded = whole ? Math.round(value) : Number(value.toPrecision(3));
  return Math.min(most, Math.max(least, rounded));
}

// Parses a matrix: lines of numbers, or JSON. Null: neither.
export function matrixOf(text: string): number[][] | null {
  const lines = text
    .trim()
    .replace(/\]\s*,?\s*\[/g, "\n")
    .replace(/[[\]]/g, " ")
    .split(/[\n;]/)
    .filter((line) => line.trim());
  const rows = lines.map((line) =>
    line
      .trim()
      .split(/[\s,]+/)
      .map((one) => Number(one.replace("−", "-"))),
  );
  const isMatrix = rows.length > 0 && rows.every((row) => row.length === rows[0].length && row.every(Number.isFinite));
  return isMatrix ? rows : null;
}

export const isMatrix = (datum: Datum | undefined): datum is number[][] =>
  Array.isArray(datum) && Array.isArray(datum[0]) && typeof (datum[0] as Nested[])[0] !== "object";

export const isVector = (datum: Datum | undefined): datum is number[] =>
  Array.isArray(datum) && typeof datum[0] === "number";

export const isWords = (datum: Datum | undefined): datum is string[] =>
  Array.isArray(datum) && typeof datum[0] === "string";

// ---- the address: "#masks?n=8" ----

export function toAddress(name: string, settings: Settings): string {
  const query = new URLSearchParams(Object.entries(settings).map(([key, value]) => [key, String(value)])).toString();
  return `#${name}${query && `?${query}`}`;
}

export function fromAddress(hash: string): { name: string; settings: Settings } {
  const [name, query = ""] = hash.replace(/^#/, "").split("?");
  const settings = [...new URLSearchParams(query)].map(([key, value]): [string, number] => [key, Number(value)]);
  return { name, settings: Object.fromEntries(settings.filter(([, value]) => Number.isFinite(value))) };
}
