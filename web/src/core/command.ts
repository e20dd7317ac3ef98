// The command line that draws what the page shows.
import type { Facts } from "./facts";
import type { Place } from "./place";

const kLongest = 2000; // characters of a text that anybody would paste into a terminal

export const quoted = (text: string): string =>
  /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

const isPair = (facts: Facts): boolean => facts.stacks.some((s) => s.query_tokens.some((t) => t.sequence === 1));

// Null: nobody but the page can draw it, as what was looked at is a table, a pair whose second text is not known, or a
// text too long for a command line.
export function commandOf(facts: Facts, place: Place): string | null {
  if (!facts.model || !facts.text || place.aside) return null;
  if (facts.text.length + (facts.pair?.length ?? 0) > kLongest || (isPair(facts) && facts.pair === null)) return null;
  const parts = ["attnscope", { overview: "overview", heads: "headview", matrix: "heatmap" }[place.view]];
  parts.push("--model", quoted(facts.model.name), "--text", quoted(facts.text));
  if (facts.pair !== null) parts.push("--pair", quoted(facts.pair));
  if (place.words) parts.push("--words");
  if (facts.stacks.length > 1) parts.push("--kind", place.kind);
  if (place.view !== "overview") parts.push("--layer", String(place.layer));
  if (place.view === "matrix") parts.push("--head", String(place.head));
  if (place.view === "heads") {
    const heads = [place.head, ...place.others.filter((o) => o.layer === place.layer).map((o) => o.head)];
    parts.push("--heads", heads.join(","));
    if (place.rule === "threshold") parts.push("--threshold", String(place.threshold));
  } else if (place.map !== "viridis") {
    parts.push("--cmap", place.map);
  }
  return parts.join(" ");
}
