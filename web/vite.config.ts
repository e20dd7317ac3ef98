import { readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// The page draws with the very tables of the figures: they are read from the C++ source when the page is built.
function colourTables(names: string[]): Plugin {
  const id = "virtual:colour-tables";
  return {
    name: "colour-tables",
    resolveId: (wanted) => (wanted === id ? "\0" + id : null),
    load(wanted) {
      if (wanted !== "\0" + id) return null;
      const source = readFileSync(new URL("../src/figure/colour_tables.cc", import.meta.url), "utf8");
      const tables = names.map((name) => {
        const found = new RegExp(`\\{"${name}",\\s*((?:"[0-9a-f]+"\\s*)+)\\}`).exec(source);
        if (!found) throw new Error(`no colour table ${name} in colour_tables.cc`);
        return [name, found[1].replace(/[^0-9a-f]/g, "")];
      });
      return `export default ${JSON.stringify(Object.fromEntries(tables))};`;
    },
  };
}

// offline.html: the same page as one file. Whoever fills in the data puts it in the place of <!--attnscope-data-->, and
// a policy into its head that allows this one script.
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

export default defineConfig({
  plugins: [colourTables(["viridis", "cividis", "Blues"]), svelte(), singleFile()],
  base: "./",
  build: {
    outDir: process.env.ATTNSCOPE_DIST ?? "dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  test: { include: ["tests/core/*.test.ts"] },
});
