// What the matrix shows: weights, weights times what they bring, or what has become of the tokens up to a layer.
import type { Facts, Stack } from "./facts";
import type { Measure } from "../state/urlState";

const kMostRollout = 512; // tokens, as the program has it

export type UnavailableReason = "" | "self" | "long" | "recorded";

// Why a measure cannot be shown; "": it can.
export function unavailableReason(measure: Measure, facts: Facts, stack: Stack): UnavailableReason {
  if (measure === "raw") return "";
  if (measure === "rollout" && stack.kind !== "self") return "self";
  if (facts.measures?.includes(measure)) return "";
  return measure === "rollout" && stack.queries > kMostRollout ? "long" : "recorded";
}

export const availableMeasure = (wanted: Measure, facts: Facts, stack: Stack): Measure =>
  unavailableReason(wanted, facts, stack) ? "raw" : wanted;
