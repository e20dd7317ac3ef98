// Formats numbers for display (three digits) and for copies (all digits).

export function formatNumber(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return String(value);
  if (size < 0.001) return value.toExponential(1).replace("e-", "e−");
  if (size >= 100) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : size >= 0.01 ? 4 : 5);
}

// Inside a cell: ".812", "1.00", "<.001".
export function formatCell(value: number): string {
  if (value === 0) return "0";
  if (value < 0.001) return "<.001";
  const text = value.toFixed(3);
  return text.startsWith("0.") ? text.slice(1) : value.toFixed(2);
}

export const formatPercent = (share: number): string =>
  share > 0 && share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;

// The shortest decimal that parses to the same float32.
export function allDigits(value: number): string {
  for (let digits = 1; digits <= 9; ++digits) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === Math.fround(value)) return String(Number(text));
  }
  return String(value);
}

// "1,474"
export const formatCount = (count: number): string => count.toLocaleString("en-US");

// "+.12", "−.03", "0": the sign is written, not left to a colour.
export const formatSigned = (value: number, format: (size: number) => string): string =>
  value === 0 ? format(0) : (value > 0 ? "+" : "−") + format(Math.abs(value));

// "12.3 kB"
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  let size = bytes;
  for (; size >= 1000 && unit < units.length - 1; ++unit) size /= 1000;
  return `${unit === 0 ? size : size.toPrecision(3)} ${units[unit]}`;
}

// The first `kept` letters of a text that has more than `most`.
export const shorten = (text: string, most: number, kept = most): string =>
  text.length > most ? `${text.slice(0, kept)}…` : text;
