// The state of the page that the URL holds behind #.
import { type Facts, type HeadName, type Kind, stackOf } from "../api/facts";
import type { MapName } from "../draw/colour";

export const kViews = ["overview", "heads", "matrix", "trace", "text", "ablate", "compare", "masks"] as const;
export const kSorts = ["place", "interest", "entropy", "distance"] as const;
export const kSentences = ["", "AA", "AB", "BA", "BB"] as const;
export const kMeasures = ["raw", "value", "rollout"] as const;
const kKinds = ["self", "decoder", "cross"] as const;
const kMaps = ["viridis", "cividis", "Blues"] as const;

export type View = (typeof kViews)[number];
export type Sort = (typeof kSorts)[number];
export type Sentences = (typeof kSentences)[number];
export type Measure = (typeof kMeasures)[number];
export type Side = "query" | "key";

export interface MapWindow {
  x: number; // of the cell in the upper left corner
  y: number;
  scale: number; // pixels per cell
}

export interface UrlState {
  view: View;
  // The record request. No model: the recording that the server was started with.
  model: string;
  text: string;
  pair: string;
  target: string;
  mask: string;
  off: HeadName[];
  generate: string;
  kind: Kind;
  layer: number;
  head: number;
  others: { layer: number; head: number }[]; // shown beside it in the head view
  row: number | null; // the pinned cell
  column: number | null;
  pins: number[]; // pinned tokens, whose lines are summed
  side: Side; // of the pins
  rule: "threshold" | "top";
  threshold: number;
  top: number;
  sentences: Sentences; // filter of lines by text
  sort: Sort;
  type: string;
  words: boolean;
  withoutSinks: boolean;
  measure: Measure;
  temperature: number;
  step: number | null; // of a generated text: the current token
  pattern: string; // of the head search
  modelB: string; // the other side of a comparison; "": none yet
  textB: string;
  pairB: string;
  maskB: string;
  offB: HeadName[];
  draft: string; // the edited mask
  size: number; // tokens of the edited mask; 0: as many as the text has
  fit: boolean; // the last colour is the largest weight instead of 1
  map: MapName;
  window: MapWindow | null; // null: the whole head
}

export const kDefaultState: UrlState = {
  view: "overview",
  model: "",
  text: "",
  pair: "",
  target: "",
  mask: "",
  off: [],
  generate: "",
  kind: "self",
  layer: 0,
  head: 0,
  others: [],
  row: null,
  column: null,
  pins: [],
  side: "query",
  rule: "threshold",
  threshold: 0.02,
  top: 3,
  sentences: "",
  sort: "place",
  type: "",
  words: false,
  withoutSinks: false,
  measure: "raw",
  temperature: 1,
  step: null,
  pattern: "",
  modelB: "",
  textB: "",
  pairB: "",
  maskB: "",
  offB: [],
  draft: "",
  size: 0,
  fit: false,
  map: "viridis",
  window: null,
};

const one =
  <T extends string>(known: readonly T[]) =>
  (text: string): T | undefined =>
    known.find((name) => name === text);

function whole(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function list<T>(text: string, parse: (part: string) => T | undefined): T[] | undefined {
  const parts = text.split(",").map(parse);
  return parts.includes(undefined) ? undefined : (parts as T[]);
}

function headOf(text: string): { layer: number; head: number } | undefined {
  const [, layer, head] = /^(\d{1,5})\.(\d{1,5})$/.exec(text) ?? [];
  return layer === undefined ? undefined : { layer: Number(layer), head: Number(head) };
}

// "1.2", or "cross.1.2" where it is not self-attention.
function switchedOff(text: string): HeadName | undefined {
  const [, kind = "self", rest] = /^(?:([a-z]+)\.)?(\d+\.\d+)$/.exec(text) ?? [];
  const head = headOf(rest ?? "");
  const known = one(kKinds)(kind);
  return head && known ? { kind: known, ...head } : undefined;
}

function windowOf(text: string): MapWindow | undefined {
  const [x, y, scale] = text.split(",").map(Number);
  return [x, y].every(Number.isFinite) && scale > 0 && scale < 1000 ? { x, y, scale } : undefined;
}

const anything = (text: string): string => text;
const between =
  (least: number, most: number) =>
  (text: string): number | undefined => {
    const value = Number(text);
    return text !== "" && value >= least && value <= most ? value : undefined;
  };
const flag = (text: string): boolean | undefined => (text === "1" ? true : text === "0" ? false : undefined);
const word = (text: string): string | undefined => (/^[a-z ]{1,40}$/.test(text) ? text : undefined);

// Names in the address that differ from the member.
const kHashNames: Partial<Record<keyof UrlState, string>> = { withoutSinks: "without_sinks" };
// Names in addresses of version 0.1.
const kOldHashNames: Partial<Record<keyof UrlState, string>> = { withoutSinks: "aside" };
const hashName = (key: keyof UrlState): string => kHashNames[key] ?? key;

// Parsers per member; undefined: invalid, so the default stays.
const readers: { [K in keyof UrlState]: (text: string) => UrlState[K] | undefined } = {
  view: one(kViews),
  model: anything,
  text: anything,
  pair: anything,
  target: anything,
  mask: anything,
  off: (text) => (text ? list(text, switchedOff) : []),
  generate: (text) => (/^\d+(,[\d.]+){4}$/.test(text) ? text : undefined),
  kind: one(kKinds),
  layer: whole,
  head: whole,
  others: (text) => list(text, headOf),
  row: whole,
  column: whole,
  pins: (text) => list(text, whole),
  side: one(["query", "key"]),
  rule: one(["threshold", "top"]),
  threshold: between(0, 1),
  top: (text) => whole(text) || undefined,
  sentences: one(kSentences),
  sort: one(kSorts),
  type: word,
  words: flag,
  withoutSinks: flag,
  measure: one(kMeasures),
  temperature: between(0.05, 5),
  step: whole,
  pattern: anything,
  modelB: anything,
  textB: anything,
  pairB: anything,
  maskB: anything,
  offB: (text) => (text ? list(text, switchedOff) : []),
  draft: anything,
  size: whole,
  fit: flag,
  map: one(kMaps),
  window: windowOf,
};

// Rounds to the precision of the URL, so that reloading draws the same picture.
export function roundWindow({ x, y, scale }: MapWindow): MapWindow {
  const digits = (value: number) => Number(value.toPrecision(7));
  return { x: digits(x), y: digits(y), scale: digits(scale) };
}

function listed(value: number | { kind?: Kind; layer: number; head: number }): string {
  if (typeof value === "number") return String(value);
  const kind = value.kind && value.kind !== "self" ? `${value.kind}.` : "";
  return `${kind}${value.layer}.${value.head}`;
}

function written(value: UrlState[keyof UrlState]): string {
  if (typeof value === "boolean") return value ? "1" : "0";
  if (Array.isArray(value)) return value.map(listed).join(",");
  if (value !== null && typeof value === "object") {
    const { x, y, scale } = roundWindow(value);
    return [x, y, scale].join(",");
  }
  return String(value);
}

// Writes only what differs from the default, and always the view.
export function toHash(state: UrlState): string {
  const parts = (Object.keys(kDefaultState) as (keyof UrlState)[]).flatMap((key) => {
    const said = state[key] === null ? "" : written(state[key]);
    const usual = kDefaultState[key] === null ? "" : written(kDefaultState[key]);
    const needed = key === "view" || ((key === "layer" || key === "head") && state.view !== "overview");
    return needed || said !== usual ? [`${hashName(key)}=${encodeURIComponent(said).replaceAll("%2C", ",")}`] : [];
  });
  return "#" + parts.join("&");
}

export function fromHash(hash: string, start: UrlState = kDefaultState): UrlState {
  const state: UrlState = { ...start };
  const keys = Object.keys(readers) as (keyof UrlState)[];
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const key = keys.find((each) => hashName(each) === name || kOldHashNames[each] === name);
    if (!key) continue;
    const value = readers[key](text);
    if (value !== undefined) Object.assign(state, { [key]: value });
  }
  return state;
}

export const headAt = (state: UrlState): HeadName => ({ kind: state.kind, layer: state.layer, head: state.head });

export const headsAt = (state: UrlState): HeadName[] => [
  headAt(state),
  ...state.others.map((other) => ({ kind: state.kind, ...other })),
];

// A pinned token becomes the current row or column when the head view switches to the matrix.
export function withPinnedCell({ view, pins, side, row, column }: UrlState, to: Partial<UrlState>): Partial<UrlState> {
  if (view !== "heads" || to.view !== "matrix" || pins.length !== 1 || row !== null || column !== null) return {};
  return side === "query" ? { row: pins[0] } : { column: pins[0] };
}

// The hovered head, row or column.
export interface Hover {
  head?: HeadName;
  row?: number | null;
  column?: number | null;
}

// The highlighted tokens: the hovered one, else the pinned ones.
export function focusAt({ pins, side }: UrlState, hover: Hover | null): { side: Side; tokens: number[] } | null {
  const { row, column } = hover ?? {};
  if (row != null) return { side: "query", tokens: [row] };
  if (column != null) return { side: "key", tokens: [column] };
  return pins.length ? { side, tokens: pins } : null;
}

// Selects the recommended head if the URL names none.
export function withFirstHead(state: UrlState, hash: string, { look_at: look }: Facts): UrlState {
  if (!look || /[#&](layer|head|kind)=/.test(hash)) return state;
  return { ...state, kind: look.kind, layer: look.layer, head: look.head };
}

// Drops heads and tokens that the recording does not have.
export function validState(state: UrlState, facts: Facts): UrlState {
  const stack = stackOf(facts, state.kind);
  const there = ({ layer, head }: { layer: number; head: number }) => layer < stack.layers && head < stack.heads;
  const chosen = there(state) && state.kind === stack.kind;
  const pinnable = state.side === "query" ? stack.queries : stack.keys;
  return {
    ...state,
    kind: stack.kind,
    layer: chosen ? state.layer : 0,
    head: chosen ? state.head : 0,
    others: state.others.filter((other) => there(other) && !(other.layer === state.layer && other.head === state.head)),
    row: state.row !== null && state.row < stack.queries ? state.row : null,
    column: state.column !== null && state.column < stack.keys ? state.column : null,
    pins: state.pins.filter((pin) => pin < pinnable),
  };
}
