// Language and theme: the stored choice, else that of the browser or the system.
import { writeStored, readStored } from "./storage";

export type Language = "en" | "zh";

export function preferredLanguage(): Language {
  const set = readStored("language");
  return set === "zh" || (!set && /^zh/i.test(navigator.language)) ? "zh" : "en";
}

// Calls `set` now and whenever the system theme changes, unless a theme is stored.
export function watchDarkMode(set: (dark: boolean) => void): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = readStored("theme");
  set(theme ? theme === "dark" : system.matches);
  system.addEventListener("change", () => !readStored("theme") && set(system.matches));
}

// The language of sentences that do not come from a component.
export const currentLanguage = (): Language => current ?? preferredLanguage();
let current: Language | null = null;

export function saveLanguage(language: Language): void {
  current = language;
  writeStored("language", language);
}

export const saveDarkMode = (dark: boolean): void => writeStored("theme", dark ? "dark" : "light");
