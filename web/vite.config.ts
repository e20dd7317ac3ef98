import { readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// Red, green and blue one after the other, as differences from the value before, which compress well: "P" is 0.
// draw/colour.ts unpacks it.
function packed(bytes: Uint8Array): string {
  const step = (value: number, i: number) => value - (i < 3 ? 0 : bytes[i - 3]);
  const steps = [...bytes].map(step);
  return [0, 1, 2].map((c) => String.fromCharCode(...steps.filter((_, i) => i % 3 === c).map((d) => 80 + d))).join("");
}

// The page draws with the colour tables of the figures: they are read from the C++ source when the page is built.
function colourTables(names: string[]): Plugin {
  const id = "virtual:colour-tables";
  return {
    name: "colour-tables",
    resolveId: (wanted) => (wanted === id ? "\0" + id : null),
    load(wanted) {
      if (wanted !== "\0" + id) return null;
      const source = readFileSync(new URL("../src/figure/colour/colour_tables.cc", import.meta.url), "utf8");
      const tables = names.map((name) => {
        const found = new RegExp(`\\{"${name}",\\s*((?:"[0-9a-f]+"\\s*)+)\\}`).exec(source);
        if (!found) throw new Error(`no colour table ${name} in colour_tables.cc`);
        return [name, packed(Buffer.from(found[1].replace(/[^0-9a-f]/g, ""), "hex"))];
      });
      return `export default ${JSON.stringify(Object.fromEntries(tables))};`;
    },
  };
}

// offline.html (--mode offline): the page as one file, without views that need a server. The server replaces
// <!--attnscope-data--> by the data, and adds a policy to the head that allows this one script.
function singleFile(): Plugin {
  return {
    name: "single-file",
    apply: "build",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        let script = "";
        let style = "";
        let page = "";
        for (const file of Object.values(bundle)) {
          if (file.type === "chunk") {
            if (script) this.error("the page must be one script, so that it can be one file");
            script = file.code.trim().replaceAll("</script", "<\\/script");
          } else if (file.fileName.endsWith(".css")) {
            style += String(file.source).trim();
          } else if (file.fileName === "index.html") {
            page = String(file.source);
          }
        }
        for (const name of Object.keys(bundle)) delete bundle[name];
        const source = page
          .replace(/\s*<script[^>]*src="[^"]*"[^>]*><\/script>/g, "")
          .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
          .replace("</head>", () => `<style>${style}</style>\n</head>`)
          .replace("</body>", () => `<!--attnscope-data-->\n<script type="module">${script}</script>\n</body>`);
        this.emitFile({ type: "asset", fileName: "offline.html", source });
      },
    },
  };
}

export default defineConfig(({ mode }) => ({
  define: { __OFFLINE__: JSON.stringify(mode === "offline") },
  plugins: [
    colourTables(["viridis", "cividis", "Blues", "RdBu"]),
    svelte(),
    ...(mode === "offline" ? [singleFile()] : []),
  ],
  base: "./",
  build: {
    outDir: process.env.ATTNSCOPE_DIST ?? "dist",
    emptyOutDir: mode !== "offline", // built beside the served page
    target: "es2022",
    modulePreload: { polyfill: false }, // the second script is requested with the first
    assetsInlineLimit: 0,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  test: { include: ["tests/{api,course,draw,i18n,input,state}/*.test.ts"] },
}));
