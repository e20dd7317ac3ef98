// Every URL and query name of the server, so that the wire names are in one place.

export type Query = Record<string, string | number>;

const kApi = {
  recordings: "api/recordings",
  models: "api/models",
  patterns: "api/patterns",
  mask: "api/mask",
  compare: "api/compare",
  lessons: "api/lessons",
  files: "api/files",
};

// In the address of the page: which of the server's recordings to open.
export const kRecordingParameter = "recording";
export const kOldRecordingParameter = "specimen"; // of version 0.1

export const recordingsUrl = (): string => kApi.recordings;
export const modelsUrl = (): string => kApi.models;
export const patternsUrl = (): string => kApi.patterns;
export const maskUrl = (): string => kApi.mask;
export const lessonsUrl = (language: string): string => `${kApi.lessons}?lang=${language}`;
export const lessonUrl = (name: string): string => `${kApi.lessons}/${encodeURIComponent(name)}`;
export const lessonAnswerUrl = (name: string): string => `${lessonUrl(name)}/answer`;

// Files of the user's: a folder holds one model, recording or table.
export const fileUrl = (folder: string, name: string, offset: number): string =>
  `${kApi.files}/${encodeURIComponent(folder)}?${queryText({ name, offset }, false)}`;
export const openFilesUrl = (folder: string): string => `${kApi.files}/${encodeURIComponent(folder)}/open`;

export const recordingUrl = (id: string, words = false): string =>
  `${kApi.recordings}/${encodeURIComponent(id)}${words ? "?words=1" : ""}`;

export const recordingPartUrl = (id: string, part: string, query: Query, words: boolean): string =>
  `${kApi.recordings}/${encodeURIComponent(id)}/${part}?${queryText(query, words)}`;

export function compareUrl(a: string, b: string, words: boolean, part = "", query: Query = {}): string {
  return `${kApi.compare}${part && "/"}${part}?${queryText({ a, b, ...query }, words)}`;
}

function queryText(query: Query, words: boolean): string {
  const parts = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return (words ? [...parts, "words=1"] : parts).join("&");
}

// Pages. A server has the course at /learn; a file, or a site of files, has only one page.
const kCourse = __APP__ === "file" || __APP__ === "site" ? "?learn" : "learn";
export const isCoursePage = ({ pathname, search }: { pathname: string; search: string }): boolean =>
  kCourse === "learn" ? pathname.endsWith("/learn") : new URLSearchParams(search).has("learn");
export const coursePage = kCourse;
export const lessonListPage = kCourse === "learn" ? "learn" : "#"; // without loading the page again
export const microscopePage = kCourse === "learn" ? "./" : "?";

// The same head by another measure, or without its sinks.
export const measureQuery = (measure: string, withoutSinks: boolean): Query => ({
  ...(measure === "raw" ? {} : { measure }),
  ...(withoutSinks ? { without_sinks: 1 } : {}),
});
