// What the reader holds on to when the text changes: tokens that are still the same.
import { type Facts, keysOf, stackOf, type Token } from "../api/facts";
import type { Place } from "./place";

// Where each token has gone: those before and behind what has changed are the same.
export function moved(before: Token[], after: Token[]): (token: number) => number | null {
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

export function carried(place: Place, before: Facts, after: Facts): Place {
  const [from, to] = [stackOf(before, place.kind), stackOf(after, place.kind)];
  const queries = moved(from.query_tokens, to.query_tokens);
  const keys = moved(keysOf(from), keysOf(to));
  const pin = place.side === "query" ? queries : keys;
  const { window } = place;
  return {
    ...place,
    row: place.row === null ? null : queries(place.row),
    column: place.column === null ? null : keys(place.column),
    pins: place.pins.flatMap((token) => pin(token) ?? []),
    window: window && window.x < to.keys && window.y < to.queries ? window : null,
    step: null,
  };
}
