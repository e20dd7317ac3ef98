// The page draws with the colour tables of the figures: they are read from the C++ source when the page is built.
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

// Red, green and blue one after the other, as differences from the value before, which compress well: "P" is 0.
// draw/colour.ts unpacks it.
function packed(bytes: Uint8Array): string {
  const step = (value: number, i: number) => value - (i < 3 ? 0 : bytes[i - 3]);
  const steps = [...bytes].map(step);
  return [0, 1, 2].map((c) => String.fromCharCode(...steps.filter((_, i) => i % 3 === c).map((d) => 80 + d))).join("");
}

export function colourTables(names: string[]): Plugin {
  const id = "virtual:colour-tables";
  return {
    name: "colour-tables",
    resolveId: (wanted) => (wanted === id ? "\0" + id : null),
    load(wanted) {
      if (wanted !== "\0" + id) return null;
      const source = readFileSync(new URL("../../src/figure/colour/colour_tables.cc", import.meta.url), "utf8");
      const tables = names.map((name) => {
        const found = new RegExp(`\\{"${name}",\\s*((?:"[0-9a-f]+"\\s*)+)\\}`).exec(source);
        if (!found) throw new Error(`no colour table ${name} in colour_tables.cc`);
        return [name, packed(Buffer.from(found[1].replace(/[^0-9a-f]/g, ""), "hex"))];
      });
      return `export default ${JSON.stringify(Object.fromEntries(tables))};`;
    },
  };
}
