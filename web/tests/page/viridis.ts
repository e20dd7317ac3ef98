import { readFileSync } from "node:fs";

const source = readFileSync(new URL("../../../src/figure/colour/colour_tables.cc", import.meta.url), "utf8");
const steps = /\{"viridis",\s*((?:"[0-9a-f]+"\s*)+)\}/.exec(source)![1].replace(/[^0-9a-f]/g, "");

export function colourOfByte(byte: number): number[] {
  const step = parseInt(steps.slice(6 * byte, 6 * byte + 6), 16);
  return [step >> 16, (step >> 8) & 255, step & 255];
}
