// The colours of src/figure: tables for weights, hues for heads.
import tables from "virtual:colour-tables";

export type TableName = keyof typeof tables;
export type MapName = Exclude<TableName, "RdBu">; // of weights; that one is for differences
export const kMapNames = (Object.keys(tables) as TableName[]).filter((name) => name !== "RdBu") as MapName[];

export type Colour = [r: number, g: number, b: number];

const decoded = new Map<TableName, Colour[]>();

export function colourMap(name: TableName): Colour[] {
  let map = decoded.get(name);
  if (!map) {
    map = unpacked(tables[name]);
    decoded.set(name, map);
  }
  return map;
}

// As vite.config.ts packs it.
function unpacked(text: string): Colour[] {
  const count = text.length / 3;
  const map: Colour[] = Array.from({ length: count }, () => [0, 0, 0]);
  for (let c = 0; c < 3; ++c) {
    let value = 0;
    for (let i = 0; i < count; ++i) map[i][c] = value += text.charCodeAt(c * count + i) - 80;
  }
  return map;
}

export const css = ([r, g, b]: Colour): string => `rgb(${r},${g},${b})`;

// Pixels for all bytes: `top` is the byte that gets the last colour.
export function pixels(name: TableName, top = 255): Uint32Array {
  const map = colourMap(name);
  return Uint32Array.from({ length: 256 }, (_, b) => {
    const [r, g, bl] = map[Math.min(255, Math.round((b * 255) / Math.max(top, 1)))];
    return ((255 << 24) | (bl << 16) | (g << 8) | r) >>> 0; // little-endian, as on every platform with a browser
  });
}

// 18 hues of equal lightness, in an order in which neighbours differ most: those of src/figure/colour/colour_map.cc.
export const kHues = [
  "#0172dc",
  "#ef5b36",
  "#01ae64",
  "#bd67e0",
  "#8a7300",
  "#009edb",
  "#cb304f",
  "#8054d6",
  "#038871",
  "#c38401",
  "#b33ca0",
  "#7484ff",
  "#468801",
  "#e65598",
  "#05a7a7",
  "#b05a02",
  "#909c03",
  "#058298",
];

const kDashes: number[][] = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

export interface HeadStyle {
  hue: string;
  dash: number[];
}

// A head keeps its hue while others come and go, unless an earlier one has it; the first is solid, those after it are
// dashed in turn, so that colour is not the only difference.
export function headStyles(heads: { head: number }[]): HeadStyle[] {
  const taken = new Set<number>();
  return heads.map(({ head }, place) => {
    let hue = head % kHues.length;
    for (let tries = 0; taken.has(hue) && tries < kHues.length; ++tries) hue = (hue + 1) % kHues.length;
    taken.add(hue);
    return { hue: kHues[hue], dash: kDashes[place % kDashes.length] };
  });
}

// Black or white, whichever contrasts more (relative luminance of WCAG 2).
export function textColourOn(background: Colour): string {
  const linear = (byte: number) => {
    const v = byte / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  };
  const [r, g, b] = background.map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.1791 ? "#000" : "#fff";
}
