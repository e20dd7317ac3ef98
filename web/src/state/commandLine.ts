// The attnscope command that shows the same as the page.
import { requestB } from "../api/comparison";
import { type Facts, type HeadName, recordRequestOf, stackOf } from "../api/facts";
import { parsePicture } from "../api/headSearch";
import { withCausal, kNoMask } from "../api/mask";
import { availableMeasure } from "../api/measure";
import { type RecordRequest, sameRequest } from "../api/recordRequest";
import type { UrlState, View } from "./urlState";
import { isGap } from "../api/predictions";

const kLongest = 2000; // characters: longer texts are no use in a terminal

const kPictures: Partial<Record<View, string>> = { overview: "overview", heads: "headview", matrix: "heatmap" };

export const quoted = (text: string): string =>
  /^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

const isPair = (facts: Facts): boolean => facts.stacks.some((s) => s.query_tokens.some((t) => t.sequence === 1));

// Null: only the page can show it: a table, a pair with an unknown second text, or a
// text too long for a command line.
export function commandOf(facts: Facts, state: UrlState): string | null {
  if (!facts.model || !facts.text) return null;
  const { pair, target } = recordRequestOf(facts) ?? { pair: facts.pair };
  const length = facts.text.length + (pair?.length ?? 0) + (target?.length ?? 0);
  if (length > kLongest || (isPair(facts) && facts.pair === null)) return null;
  if (state.view === "compare") return compareCommand(facts, state);
  if (state.view === "masks") return maskCommand(facts, state);
  if (state.view === "text") return wordsCommand(facts, state);
  if (state.view === "ablate") return ablateCommand(facts, state);
  return pictureCommand(facts, state);
}

// The command with the model and its texts.
function readCommand(name: string, facts: Facts): string[] {
  const { pair, target } = recordRequestOf(facts) ?? { pair: facts.pair };
  const parts = ["attnscope", name, "--model", quoted(facts.model!.name)];
  parts.push("--text", quoted(recordRequestOf(facts)?.text ?? facts.text));
  if (pair) parts.push("--pair", quoted(pair));
  if (target) parts.push("--target", quoted(target));
  return parts;
}

// Figures exist only for texts without mask, ablation or generation.
function pictureCommand(facts: Facts, state: UrlState): string | null {
  const { mask, off, generate } = recordRequestOf(facts) ?? {};
  if (mask || off?.length || generate) return null;
  if (state.view === "trace") return traceCommand(facts, state);
  if (state.view === "overview" && state.pattern) return findCommand(facts, state);
  const measure = state.view === "matrix" ? availableMeasure(state.measure, facts, stackOf(facts, state.kind)) : "raw";
  if (measure === "rollout") return rolloutCommand(facts, state);
  const name = kPictures[state.view];
  if (!name) return null;
  const parts = readCommand(name, facts);
  if (measure !== "raw") parts.push("--measure", measure);
  else if (state.withoutSinks && state.view !== "overview") parts.push("--without-sinks");
  if (state.words) parts.push("--words");
  if (facts.stacks.length > 1) parts.push("--kind", state.kind);
  if (state.view !== "overview") parts.push("--layer", String(state.layer));
  if (state.view === "matrix") parts.push("--head", String(state.head));
  if (state.view === "heads") {
    const heads = [state.head, ...state.others.filter((o) => o.layer === state.layer).map((o) => o.head)];
    parts.push("--heads", heads.join(","));
    if (state.rule === "threshold") parts.push("--threshold", String(state.threshold));
  } else if (state.map !== "viridis") {
    parts.push("--cmap", state.map);
  }
  return parts.join(" ");
}

function traceCommand(facts: Facts, state: UrlState): string | null {
  const { kind, layer, head, row, column } = state;
  if (state.words || row === null || column === null) return null;
  const parts = readCommand("trace", facts);
  if (facts.stacks.length > 1) parts.push("--kind", kind);
  return [...parts, "--layer", layer, "--head", head, "--query", row, "--key", column].join(" ");
}

// Rollout combines all heads.
function rolloutCommand(facts: Facts, state: UrlState): string | null {
  if (state.words) return null;
  const parts = [...readCommand("rollout", facts), "--layer", state.layer, "--scale", "sqrt"];
  return (state.map === "viridis" ? parts : [...parts, "--cmap", state.map]).join(" ");
}

// A painted picture cannot be written as a pattern.
function findCommand(facts: Facts, state: UrlState): string | null {
  if (state.words || parsePicture(state.pattern) || state.pattern.startsWith("-")) return null;
  const kind = facts.stacks.length > 1 ? ["--kind", state.kind] : [];
  return [...readCommand("find", facts), ...kind, quoted(state.pattern)].join(" ");
}

// Generation, words for gaps, or labels. Only the page has other predictions and temperatures.
function wordsCommand(facts: Facts, state: UrlState): string | null {
  const { mask, off, generate, pair } = recordRequestOf(facts) ?? {};
  if (mask || off?.length) return null;
  if (generate) {
    const parts = ["attnscope generate", "--model", quoted(facts.model!.name)];
    parts.push("--prompt", quoted(recordRequestOf(facts)!.text), "--tokens", String(generate.tokens));
    parts.push("--temperature", String(generate.temperature), "--seed", String(generate.seed));
    if (generate.top_k > 0) parts.push("--top-k", String(generate.top_k));
    if (generate.top_p < 1) parts.push("--top-p", String(generate.top_p));
    return parts.join(" ");
  }
  if (state.temperature !== 1) return null;
  const hasGap = facts.stacks[0].query_tokens.some(isGap);
  if (facts.model!.fills && hasGap) return pair ? null : [...readCommand("fill", facts), "--top", "10"].join(" ");
  return facts.model!.labels?.length ? readCommand("classify", facts).join(" ") : null;
}

// "3.7", "cross:3.7"
const named = ({ kind, layer, head }: HeadName): string => `${kind === "self" ? "" : `${kind}:`}${layer}.${head}`;

// With all heads on, the command ranks each of them.
function ablateCommand(facts: Facts, state: UrlState): string | null {
  const { mask, off, generate } = recordRequestOf(facts) ?? {};
  if (mask || generate || state.temperature !== 1) return null;
  const which = off?.length ? off.flatMap((head) => ["--head", named(head)]) : ["--all"];
  return [...readCommand("ablate", facts), ...which].join(" ");
}

// Two texts of one model, or two models of one text.
function compareCommand(facts: Facts, state: UrlState): string | null {
  const a = recordRequestOf(facts);
  const b = requestB(state, a);
  const asIs = (request: RecordRequest) => !request.mask && !request.off?.length && !request.generate && !request.pair;
  if (!a || !b || !asIs(a) || !asIs(b) || state.words || sameRequest(a, b)) return null;
  const sides =
    a.model === b.model
      ? [quoted(a.text), quoted(b.text), "--model", quoted(a.model)]
      : [quoted(a.model), quoted(b.model), "--text", quoted(a.text)];
  if ((a.model !== b.model && a.text !== b.text) || b.text.length > kLongest) return null;
  const parts = ["attnscope", "compare", ...sides];
  if (a.target) parts.push("--target", quoted(a.target));
  if (facts.stacks.length > 1) parts.push("--kind", state.kind);
  return [...parts, "--layer", state.layer, "--head", state.head].join(" ");
}

const kMostOfMask = 4096; // tokens that the command draws

// The effective mask: the written one and the model's own rule.
function maskCommand(facts: Facts, state: UrlState): string | null {
  const stack = stackOf(facts, "self");
  const size = state.size || (state.words ? 0 : stack.queries);
  const text = withCausal(state.draft || recordRequestOf(facts)?.mask || kNoMask, stack.causal);
  if (!size || size > kMostOfMask || text.length > kLongest) return null;
  return `attnscope mask ${quoted(text)} --size ${size}`;
}
