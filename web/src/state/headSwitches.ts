// Switching heads on and off.
import { type Facts, type HeadName, indices, type Kind, sameHead, type Stack } from "../api/facts";
import { withoutGeneration } from "../input/textEditing";
import type { RecordRequest } from "../api/recordRequest";
import { isGap, outputStack } from "../api/predictions";

const kKinds: Kind[] = ["self", "decoder", "cross"];

// Sorts heads, so that equal sets make equal requests.
const inOrder = (heads: HeadName[]): HeadName[] =>
  [...heads].sort((a, b) => kKinds.indexOf(a.kind) - kKinds.indexOf(b.kind) || a.layer - b.layer || a.head - b.head);

export const isOff = (off: HeadName[], head: HeadName): boolean => off.some((other) => sameHead(other, head));

export function toggleHead(off: HeadName[], { kind, layer, head }: HeadName): HeadName[] {
  const one = { kind, layer, head };
  return isOff(off, one) ? off.filter((other) => !sameHead(other, one)) : inOrder([...off, one]);
}

export const isLayerOff = (off: HeadName[], stack: Stack, layer: number): boolean =>
  indices(stack.heads).every((head) => isOff(off, { kind: stack.kind, layer, head }));

// Switches all heads of a layer off, or on if they are off.
export function toggleLayer(off: HeadName[], stack: Stack, layer: number): HeadName[] {
  const others = off.filter((head) => head.kind !== stack.kind || head.layer !== layer);
  if (isLayerOff(off, stack, layer)) return others;
  const all = indices(stack.heads).map((head) => ({ kind: stack.kind, layer, head }));
  return inOrder([...others, ...all]);
}

// The request for the same tokens with other heads off.
export function withHeadsOff(facts: Facts, off: HeadName[]): RecordRequest {
  return { ...withoutGeneration(facts)!, off };
}

// Long texts are asked about at one place, the one that is selected.
const kMostPlaces = 64;

export function ablatedToken(facts: Facts, row: number | null): number | null {
  const { query_tokens: tokens } = outputStack(facts);
  const all = facts.model?.form === "decoder" || tokens.some(isGap) || tokens.length <= kMostPlaces;
  if (all) return null;
  return row !== null && row < tokens.length ? row : tokens.length - 1;
}
