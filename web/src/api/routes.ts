// Every URL and query name of the server, so that the wire names are in one place.

export type Query = Record<string, string | number>;

const kApi = {
  recordings: "api/recordings",
  models: "api/models",
  patterns: "api/patterns",
  mask: "api/mask",
  compare: "api/compare",
  lessons: "api/lessons",
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

// The same head by another measure, or without its sinks.
export const measureQuery = (measure: string, withoutSinks: boolean): Query => ({
  ...(measure === "raw" ? {} : { measure }),
  ...(withoutSinks ? { without_sinks: 1 } : {}),
});
