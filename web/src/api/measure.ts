// What the matrix shows: weights, weights times what they bring, or what has become of the tokens up to a layer.
import type { Facts, Stack } from "./facts";
import type { Measure } from "../state/place";

const kMostRollout = 512; // tokens, as the program has it

export type Why = "" | "self" | "long" | "recorded";

// Why a measure cannot be shown; "": it can.
export function hindrance(measure: Measure, facts: Facts, stack: Stack): Why {
  if (measure === "raw") return "";
  if (measure === "rollout" && stack.kind !== "self") return "self";
  if (facts.measures?.includes(measure)) return "";
  return measure === "rollout" && stack.queries > kMostRollout ? "long" : "recorded";
}

export const shownMeasure = (wanted: Measure, facts: Facts, stack: Stack): Measure =>
  hindrance(wanted, facts, stack) ? "raw" : wanted;
