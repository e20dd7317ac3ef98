// The command line that draws or prints what the page shows.
import { originB } from "./compare";
import { type Facts, type HeadName, stackOf } from "./facts";
import { pictureOf } from "./find";
import { both, kEverything } from "./mask";
import { shownMeasure } from "./measure";
import { type Origin, sameOrigin } from "./origin";
import type { Place, View } from "../state/place";
import { isGap } from "./predictions";

const kLongest = 2000; // characters of a text that anybody would paste into a terminal

const kPictures: Partial<Record<View, string>> = { overview: "overview", heads: "headview", matrix: "heatmap" };

export const quoted = (text: string): string =>
  /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

const isPair = (facts: Facts): boolean => facts.stacks.some((s) => s.query_tokens.some((t) => t.sequence === 1));

// Null: nobody but the page can show it, as what was looked at is a table, a pair whose second text is not known, or a
// text too long for a command line.
export function commandOf(facts: Facts, place: Place): string | null {
  if (!facts.model || !facts.text) return null;
  const { pair, target } = facts.origin ?? { pair: facts.pair };
  const length = facts.text.length + (pair?.length ?? 0) + (target?.length ?? 0);
  if (length > kLongest || (isPair(facts) && facts.pair === null)) return null;
  if (place.view === "compare") return compareCommand(facts, place);
  if (place.view === "masks") return maskCommand(facts, place);
  if (place.view === "text") return wordsCommand(facts, place);
  if (place.view === "ablate") return ablateCommand(facts, place);
  return pictureCommand(facts, place);
}

// The model, and what it reads.
function readCommand(name: string, facts: Facts): string[] {
  const { pair, target } = facts.origin ?? { pair: facts.pair };
  const parts = ["attnscope", name, "--model", quoted(facts.model!.name)];
  parts.push("--text", quoted(facts.origin?.text ?? facts.text));
  if (pair) parts.push("--pair", quoted(pair));
  if (target) parts.push("--target", quoted(target));
  return parts;
}

// Pictures are of texts that are read as they are.
function pictureCommand(facts: Facts, place: Place): string | null {
  const { mask, off, generate } = facts.origin ?? {};
  if (mask || off?.length || generate) return null;
  if (place.view === "trace") return traceCommand(facts, place);
  if (place.view === "overview" && place.pattern) return findCommand(facts, place);
  const measure = place.view === "matrix" ? shownMeasure(place.measure, facts, stackOf(facts, place.kind)) : "raw";
  if (measure === "rollout") return rolloutCommand(facts, place);
  const name = kPictures[place.view];
  if (!name) return null;
  const parts = readCommand(name, facts);
  if (measure !== "raw") parts.push("--measure", measure);
  else if (place.aside && place.view !== "overview") parts.push("--aside");
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

function traceCommand(facts: Facts, place: Place): string | null {
  const { kind, layer, head, row, column } = place;
  if (place.words || row === null || column === null) return null;
  const parts = readCommand("trace", facts);
  if (facts.stacks.length > 1) parts.push("--kind", kind);
  return [...parts, "--layer", layer, "--head", head, "--query", row, "--key", column].join(" ");
}

// Of all heads together.
function rolloutCommand(facts: Facts, place: Place): string | null {
  if (place.words) return null;
  const parts = [...readCommand("rollout", facts), "--layer", place.layer, "--scale", "sqrt"];
  return (place.map === "viridis" ? parts : [...parts, "--cmap", place.map]).join(" ");
}

// A painted picture has no name.
function findCommand(facts: Facts, place: Place): string | null {
  if (place.words || pictureOf(place.pattern) || place.pattern.startsWith("-")) return null;
  const kind = facts.stacks.length > 1 ? ["--kind", place.kind] : [];
  return [...readCommand("find", facts), ...kind, quoted(place.pattern)].join(" ");
}

// What is generated, words for gaps, or labels. Predictions elsewhere, and at other temperatures, only the page has.
function wordsCommand(facts: Facts, place: Place): string | null {
  const { mask, off, generate, pair } = facts.origin ?? {};
  if (mask || off?.length) return null;
  if (generate) {
    const parts = ["attnscope generate", "--model", quoted(facts.model!.name)];
    parts.push("--prompt", quoted(facts.origin!.text), "--tokens", String(generate.tokens));
    parts.push("--temperature", String(generate.temperature), "--seed", String(generate.seed));
    if (generate.top_k > 0) parts.push("--top-k", String(generate.top_k));
    if (generate.top_p < 1) parts.push("--top-p", String(generate.top_p));
    return parts.join(" ");
  }
  if (place.temperature !== 1) return null;
  const hasGap = facts.stacks[0].query_tokens.some(isGap);
  if (facts.model!.fills && hasGap) return pair ? null : [...readCommand("fill", facts), "--top", "10"].join(" ");
  return facts.model!.labels?.length ? readCommand("classify", facts).join(" ") : null;
}

// "3.7", "cross:3.7"
const named = ({ kind, layer, head }: HeadName): string => `${kind === "self" ? "" : `${kind}:`}${layer}.${head}`;

// With all heads on: what each of them does by itself.
function ablateCommand(facts: Facts, place: Place): string | null {
  const { mask, off, generate } = facts.origin ?? {};
  if (mask || generate || place.temperature !== 1) return null;
  const which = off?.length ? off.flatMap((head) => ["--head", named(head)]) : ["--all"];
  return [...readCommand("ablate", facts), ...which].join(" ");
}

// Two texts of one model, or two models of one text.
function compareCommand(facts: Facts, place: Place): string | null {
  const a = facts.origin ?? null;
  const b = originB(place, a);
  const asIs = (origin: Origin) => !origin.mask && !origin.off?.length && !origin.generate && !origin.pair;
  if (!a || !b || !asIs(a) || !asIs(b) || place.words || sameOrigin(a, b)) return null;
  const sides =
    a.model === b.model
      ? [quoted(a.text), quoted(b.text), "--model", quoted(a.model)]
      : [quoted(a.model), quoted(b.model), "--text", quoted(a.text)];
  if ((a.model !== b.model && a.text !== b.text) || b.text.length > kLongest) return null;
  const parts = ["attnscope", "compare", ...sides];
  if (a.target) parts.push("--target", quoted(a.target));
  if (facts.stacks.length > 1) parts.push("--kind", place.kind);
  return [...parts, "--layer", place.layer, "--head", place.head].join(" ");
}

const kMostOfMask = 4096; // tokens that the command draws

// What holds: the mask and the model's own rule.
function maskCommand(facts: Facts, place: Place): string | null {
  const stack = stackOf(facts, "self");
  const size = place.size || (place.words ? 0 : stack.queries);
  const text = both(place.draft || facts.origin?.mask || kEverything, stack.causal);
  if (!size || size > kMostOfMask || text.length > kLongest) return null;
  return `attnscope mask ${quoted(text)} --size ${size}`;
}
