// Exports: the requests that make them, and their sizes.
import { type Facts, type HeadName, keysOf, stackOf } from "./facts";
import { allDigits } from "../i18n/format";
import { type UrlState, toHash, type View } from "../state/urlState";
import { measureQuery, type Query } from "./routes";
import type { Source } from "./sources/source";

export type ExportName = "png" | "svg" | "csv" | "npy" | "recording" | "page";

export interface Export {
  name: ExportName;
  what: string; // the route below the recording
  query: Query;
  bytes: number | null; // the size of the file; null: unknown
}

// The measure of the shown head.
export interface MeasureOptions {
  measure: string;
  withoutSinks: boolean;
}

const kFigures: Partial<Record<View, string>> = { overview: "overview", heads: "headview", matrix: "heatmap" };
const kDpi = 150;

const shownQuery = (state: UrlState, { measure, withoutSinks }: MeasureOptions): Query => ({
  ...measureQuery(measure, withoutSinks),
  ...(state.words ? { words: 1 } : {}),
});

// The query for a figure of the current view; null: this view has none.
export function figureQuery(state: UrlState, options: MeasureOptions, format: "png" | "svg"): Query | null {
  const view = kFigures[state.view];
  if (!view) return null;
  const { kind, layer, head, others, map } = state;
  const query: Query = { view, format, kind, ...shownQuery(state, options) };
  if (format === "png") query.dpi = kDpi;
  if (view === "overview") return { ...query, map };
  if (view === "heatmap") return { ...query, layer, head, map };
  const heads = [head, ...others.filter((other) => other.layer === layer).map((other) => other.head)];
  if (state.rule === "threshold") query.threshold = state.threshold;
  return { ...query, layer, heads: heads.join(",") };
}

export function availableExports(facts: Facts, state: UrlState, options: MeasureOptions): Export[] {
  const { kind, layer, head } = state;
  const { queries, keys } = stackOf(facts, kind);
  const of: Query = { kind, layer, head, ...shownQuery(state, options) };
  const all: Export[] = [];
  for (const name of ["png", "svg"] as const) {
    const query = figureQuery(state, options, name);
    if (query) all.push({ name, what: "figure", query, bytes: null });
  }
  all.push({ name: "csv", what: "table", query: { ...of, format: "csv" }, bytes: null });
  all.push({ name: "npy", what: "table", query: { ...of, format: "npy" }, bytes: 128 + 4 * queries * keys });
  if (facts.model) all.push({ name: "recording", what: "recording", query: {}, bytes: facts.bytes ?? null });
  const words: Query = state.words ? { words: 1 } : {};
  all.push({ name: "page", what: "page", query: { state: toHash(state).slice(1), ...words }, bytes: null });
  return all;
}

const quoted = (cell: string): string => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

// As `attnscope weights --csv` writes it, with as many digits as this source has.
export async function csvOf(source: Source, head: HeadName): Promise<string> {
  const stack = stackOf(source.facts, head.kind);
  const lines = [["", ...keysOf(stack).map((token) => quoted(token.text))].join(",")];
  for (let i = 0; i < stack.queries; ++i) {
    const row = await source.row(head, i);
    lines.push([quoted(stack.query_tokens[i].text), ...Array.from(row, allDigits)].join(","));
  }
  return lines.join("\n") + "\n";
}

// The file name from a Content-Disposition header, else `other`.
export const fileName = (disposition: string | null, other: string): string =>
  /filename="([^"/\\]+)"/.exec(disposition ?? "")?.[1] ?? other;

// Reads a whole response and reports the bytes read so far to `onBytes`.
export async function download(response: Response, onBytes: (bytes: number) => void): Promise<Blob> {
  const reader = response.body!.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    onBytes((bytes += value.length));
  }
  return new Blob(parts, { type: response.headers.get("Content-Type") ?? "application/octet-stream" });
}
