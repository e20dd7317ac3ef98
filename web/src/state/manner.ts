// How a reader likes the page: as it was last set, else as the browser and the system have it.
import { remember, remembered } from "./memory";

export type Language = "en" | "zh";

export function likedLanguage(): Language {
  const set = remembered("language");
  return set === "zh" || (!set && /^zh/i.test(navigator.language)) ? "zh" : "en";
}

// Tells `set` whether the page is dark, now and whenever the system changes; what was set by hand stays.
export function likedDark(set: (dark: boolean) => void): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = remembered("theme");
  set(theme ? theme === "dark" : system.matches);
  system.addEventListener("change", () => !remembered("theme") && set(system.matches));
}

export const keepLanguage = (language: Language): void => remember("language", language);
export const keepDark = (dark: boolean): void => remember("theme", dark ? "dark" : "light");
