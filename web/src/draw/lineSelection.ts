// Which weights of a row become lines, and how much of the row is not drawn.

export interface LineRule {
  rule: "threshold" | "top";
  threshold: number;
  top: number;
}

export interface SelectedLines {
  keys: number[];
  weights: number[];
  mass: number; // the sum of all weights that pass the filter
  hidden: number; // the part of it that is not drawn
}

type Allowed = ((key: number) => boolean) | null;

// `allowed`: which keys count; null: all.
export function selectLines(row: ArrayLike<number>, how: LineRule, allowed: Allowed): SelectedLines {
  const lines: SelectedLines = { keys: [], weights: [], mass: 0, hidden: 0 };
  let { least, equals } =
    how.rule === "top" ? endOfTop(row, how.top, allowed) : { least: how.threshold, equals: Infinity };
  for (let j = 0; j < row.length; ++j) {
    const w = row[j];
    if (!(w > 0) || (allowed && !allowed(j))) continue;
    lines.mass += w;
    if (w < least || (w === least && --equals < 0)) {
      lines.hidden += w;
    } else {
      lines.keys.push(j);
      lines.weights.push(w);
    }
  }
  return lines;
}

// The smallest weight among the largest `top`, and how many of that size belong to them.
function endOfTop(row: ArrayLike<number>, top: number, allowed: Allowed): { least: number; equals: number } {
  const best = largest(allowed ? Float32Array.from(row, (w, j) => (allowed(j) ? w : 0)) : row, top);
  const least = best.length ? row[best[best.length - 1]] : Infinity;
  return { least, equals: best.filter((j) => row[j] === least).length };
}

// Indices of the largest values, largest first; ties from left to right.
export function largest(row: ArrayLike<number>, count: number): number[] {
  const places: number[] = [];
  for (let j = 0; j < row.length; ++j) {
    if (!(row[j] > 0) || (places.length === count && row[j] <= row[places[count - 1]])) continue;
    let at = places.length;
    while (at > 0 && row[places[at - 1]] < row[j]) --at;
    places.splice(at, 0, j);
    if (places.length > count) places.pop();
  }
  return places;
}
