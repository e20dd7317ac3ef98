// How a reader likes the page: as it was last set, else as the browser and the system have it.
import { writeStored, readStored } from "./storage";

export type Language = "en" | "zh";

export function preferredLanguage(): Language {
  const set = readStored("language");
  return set === "zh" || (!set && /^zh/i.test(navigator.language)) ? "zh" : "en";
}

// Tells `set` whether the page is dark, now and whenever the system changes; what was set by hand stays.
export function watchDarkMode(set: (dark: boolean) => void): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = readStored("theme");
  set(theme ? theme === "dark" : system.matches);
  system.addEventListener("change", () => !readStored("theme") && set(system.matches));
}

export const saveLanguage = (language: Language): void => writeStored("language", language);
export const saveDarkMode = (dark: boolean): void => writeStored("theme", dark ? "dark" : "light");
