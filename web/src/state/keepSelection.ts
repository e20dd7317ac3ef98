// Keeps the selection when the text changes, on tokens that are still the same.
import { type Facts, keysOf, stackOf, type Token } from "../api/facts";
import type { UrlState } from "./urlState";

// Maps old token indices to new ones: tokens before and after the change are the same.
export function tokenMap(before: Token[], after: Token[]): (token: number) => number | null {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head].text === after[head].text) ++head;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail].text === after[after.length - 1 - tail].text) ++tail;
  return (token) => {
    if (token < head) return token;
    return token >= before.length - tail && token < before.length ? token + after.length - before.length : null;
  };
}

export function keepSelection(state: UrlState, before: Facts, after: Facts): UrlState {
  const [from, to] = [stackOf(before, state.kind), stackOf(after, state.kind)];
  const queries = tokenMap(from.query_tokens, to.query_tokens);
  const keys = tokenMap(keysOf(from), keysOf(to));
  const pin = state.side === "query" ? queries : keys;
  const { window } = state;
  return {
    ...state,
    row: state.row === null ? null : queries(state.row),
    column: state.column === null ? null : keys(state.column),
    pins: state.pins.flatMap((token) => pin(token) ?? []),
    window: window && window.x < to.keys && window.y < to.queries ? window : null,
    step: null,
  };
}
