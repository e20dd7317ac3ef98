// "virtual:worker": the Worker of the page, whose script is a string in a page that is one file, and else a file beside
// it. Pages of a server have none.
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const kScript = fileURLToPath(new URL("../src/worker/worker.ts", import.meta.url));

export function pageWorker(app: "served" | "offline" | "file" | "site"): Plugin {
  const id = "virtual:worker";
  const code = {
    served: "export default class {}",
    offline: "export default class {}",
    file: `export { default } from ${JSON.stringify(kScript + "?worker&inline")};`,
    site: `export { default } from ${JSON.stringify(kScript + "?worker")};`,
  };
  return {
    name: "page-worker",
    resolveId: (wanted) => (wanted === id ? "\0" + id : null),
    load: (wanted) => (wanted === "\0" + id ? code[app] : null),
  };
}
