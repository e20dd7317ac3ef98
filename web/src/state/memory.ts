// What is remembered of a reader's choices. A page inside another one may have no store: then nothing is.

export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(`attnscope.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`attnscope.${name}`, value);
  } catch {
    return;
  }
}
