// Measures of the matrix view: weights, value-weighted weights, or attention rollout.
import type { Facts, Stack } from "./facts";
import type { Measure } from "../state/urlState";

const kMostRollout = 512; // tokens: the server's limit

export type UnavailableReason = "" | "self" | "long" | "recorded";

// Why a measure is unavailable; "": it is available.
export function unavailableReason(measure: Measure, facts: Facts, stack: Stack): UnavailableReason {
  if (measure === "raw") return "";
  if (measure === "rollout" && stack.kind !== "self") return "self";
  if (facts.measures?.includes(measure)) return "";
  return measure === "rollout" && stack.queries > kMostRollout ? "long" : "recorded";
}

export const availableMeasure = (wanted: Measure, facts: Facts, stack: Stack): Measure =>
  unavailableReason(wanted, facts, stack) ? "raw" : wanted;
