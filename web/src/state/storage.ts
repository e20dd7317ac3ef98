// Choices kept in localStorage. A page in a frame may have no storage: then nothing is kept.

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
