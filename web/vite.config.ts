import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { colourTables } from "./build/colourTables.ts";
import { pageWorker } from "./build/pageWorker.ts";
import { singleFile } from "./build/singleFile.ts";

// What a mode builds, into the folder that ATTNSCOPE_DIST names:
//   production  index.html and assets/, the page that the program serves
//   offline     offline.html, the page as one file, without views that need a server. The server replaces
//               <!--attnscope-data--> by the data, and adds a policy to the head that allows this one script
//   file        app.html, the page as one file that runs attnscope.wasm; pack/pack.mjs puts it in
//   site        site/, the same as a folder of files
type App = "served" | "offline" | "file" | "site";
const kApps: Record<string, App | undefined> = { offline: "offline", file: "file", site: "site" };

export default defineConfig(({ mode }) => {
  const app = kApps[mode] ?? "served";
  const folder = process.env.ATTNSCOPE_DIST ?? "dist";
  return {
    define: { __OFFLINE__: JSON.stringify(app === "offline"), __APP__: JSON.stringify(app) },
    plugins: [
      colourTables(["viridis", "cividis", "Blues", "RdBu"]),
      pageWorker(app),
      svelte(),
      ...(app === "offline" ? [singleFile("offline.html", "<!--attnscope-data-->")] : []),
      ...(app === "file" ? [singleFile("app.html", "<!--attnscope-blocks-->")] : []),
    ],
    base: "./",
    build: {
      outDir: app === "site" ? `${folder}/site` : folder,
      emptyOutDir: app === "served" || app === "site", // the others are built beside the served page
      target: "es2022",
      modulePreload: { polyfill: false }, // the second script is requested with the first
      assetsInlineLimit: 0,
      rolldownOptions: {
        checks: { pluginTimings: false },
        // Views that other pages load on demand.
        ...(app === "file" ? { output: { codeSplitting: false } } : {}),
      },
    },
    test: { include: ["tests/{api,app,course,draw,i18n,input,state,worker}/*.test.ts"] },
  };
});
