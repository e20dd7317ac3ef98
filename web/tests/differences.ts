// The program and attnscope.wasm round differently: numbers of the one are near those of the other.
const kNear = 1e-5; // of the number, or of 1 if that is more
const kNumber = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g;

const isNear = (a: number, b: number): boolean =>
  Object.is(a, b) || Math.abs(a - b) <= kNear * Math.max(1, Math.abs(b));

// Where two values differ by more than rounding: "q.3: 0.5, 0.6". Numbers in texts count as numbers.
export function differences(a: unknown, b: unknown, path = ""): string[] {
  if (typeof a === "number" && typeof b === "number") return isNear(a, b) ? [] : [`${path}: ${a}, ${b}`];
  if (typeof a === "string" && typeof b === "string" && a !== b) {
    const texts = [a, b].map((text) => text.replace(kNumber, "#"));
    if (texts[0] !== texts[1]) return [`${path}: ${a}, ${b}`];
    const [of, other] = [a, b].map((text) => (text.match(kNumber) ?? []).map(Number));
    return differences(of, other, path);
  }
  if (a && b && typeof a === "object" && typeof b === "object") {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    const part = (value: object, key: string) => (value as Record<string, unknown>)[key];
    return [...keys].flatMap((key) => differences(part(a, key), part(b, key), path ? `${path}.${key}` : key));
  }
  return a === b ? [] : [`${path}: ${JSON.stringify(a)}, ${JSON.stringify(b)}`];
}
