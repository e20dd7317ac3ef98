// What is remembered of a reader's choices. A page inside another one may have no store: then nothing is.

export type StorageKey = "visited" | "language" | "theme" | "course";

export function readStored(key: StorageKey): string | null {
  try {
    return localStorage.getItem(`attnscope.${key}`);
  } catch {
    return null;
  }
}

export function writeStored(key: StorageKey, value: string): void {
  try {
    localStorage.setItem(`attnscope.${key}`, value);
  } catch {
    return;
  }
}
