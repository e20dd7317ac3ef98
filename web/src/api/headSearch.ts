// Search for heads by pattern: requests and answers.
import { type HeadName, type Kind, keyOf } from "./facts";
import type { Shares } from "./mask";

export interface SearchResult {
  pattern: string; // in canonical form
  heads: (HeadName & { similarity: number })[]; // the nearest first
}

// A syntax error in a pattern.
export interface PatternError {
  message: string;
  pattern: string;
  column: number | null; // where, from 1
}

const kPictureSize = 12; // cells per side of a painted picture

// "table(10,01)": a painted picture in the URL; null: another pattern.
export function parsePicture(pattern: string): Shares | null {
  const [, text] = /^table\(([01]+(?:,[01]+)*)\)$/.exec(pattern) ?? [];
  const rows = text?.split(",") ?? [];
  if (!rows.length || rows.some((row) => row.length !== rows[0].length)) return null;
  const bytes = Uint8Array.from(rows.join(""), (cell) => (cell === "1" ? 255 : 0));
  return { rows: rows.length, columns: rows[0].length, bytes };
}

export const blankPicture = (): Shares => ({
  rows: kPictureSize,
  columns: kPictureSize,
  bytes: new Uint8Array(kPictureSize * kPictureSize),
});

// A picture is smaller than the tables it is compared with, so it is sent as numbers, not as a mask.
export function searchBody(pattern: string, kind: Kind): object {
  const picture = parsePicture(pattern);
  if (!picture) return { pattern, kind };
  const { rows, columns, bytes } = picture;
  const row = (i: number) => Array.from(bytes.subarray(i * columns, (i + 1) * columns), (b) => (b ? 1 : 0));
  return { picture: Array.from({ length: rows }, (_, i) => row(i)), kind };
}

export const similarities = (found: SearchResult): Map<string, number> =>
  new Map(found.heads.map((head) => [keyOf(head), head.similarity]));

// The column of the error, from its member or from its message.
export function errorColumn(problem: { message: string; column?: number }): number | null {
  const said = /column (\d+)/.exec(problem.message)?.[1];
  return problem.column ?? (said ? Number(said) : null);
}
