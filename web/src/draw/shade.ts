// How the bytes of a map and the numbers of its cells look.
import { type Colour, colourMap, type MapName, pixels } from "./colour";
import { formatCell, formatSigned } from "../i18n/format";

export interface Shade {
  key: string; // equal keys mean equal pixels
  pixels: Uint32Array; // of every byte
  colour: (value: number) => Colour; // under a cell's number
  text: (value: number) => string;
}

const kept = new Map<string, Shade>();

function once(key: string, make: () => Omit<Shade, "key">): Shade {
  let shade = kept.get(key);
  if (!shade) {
    if (kept.size > 500) kept.clear();
    shade = { key, ...make() };
    kept.set(key, shade);
  }
  return shade;
}

// Weights: bytes are round(255 sqrt(w / scale)), the byte `top` gets the last colour.
export function weightShade(map: MapName, top: number, scale = 1): Shade {
  return once(`${map}/${top}/${scale}`, () => {
    const colours = colourMap(map);
    const step = (w: number) => Math.round((255 * Math.sqrt(w / scale) * 255) / Math.max(top, 1));
    return { pixels: pixels(map, top), colour: (w) => colours[Math.min(255, step(w))], text: formatCell };
  });
}

const kMiddle = 128; // the byte of no difference
const kApart = 0; // of a pair of tokens that only one side has

// The number that byte b stands for.
export const differenceOfByte = (b: number): number => (Math.sign(b - kMiddle) * (b - kMiddle) ** 2) / 127 ** 2;

// Differences: bytes are 128 + round(127 sign(d) sqrt(|d|)), of which `top` (1 to 127) from the middle gets the last
// colours. Pairs that only one side has stay transparent: the caller draws a hatch below them.
export function differenceShade(top: number): Shade {
  return once(`RdBu/${top}`, () => {
    const colours = colourMap("RdBu");
    const place = (from: number) => Math.min(255, Math.max(0, Math.floor(128 + (from * 128) / Math.max(top, 1))));
    const table = pixels("RdBu");
    return {
      pixels: Uint32Array.from({ length: 256 }, (_, b) => (b === kApart ? 0 : table[place(b - kMiddle)])),
      colour: (d) => colours[Number.isNaN(d) ? 128 : place(Math.sign(d) * 127 * Math.sqrt(Math.abs(d)))],
      text: (d) => (Number.isNaN(d) ? "" : formatSigned(d, formatCell)),
    };
  });
}
