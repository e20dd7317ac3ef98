// attnscope.html: the page with attnscope.wasm, models and lessons as gzip in base64 in the text of elements.
import { readFileSync, writeFileSync } from "node:fs";
import { gzip, listOf, packFiles } from "./contents.mjs";
import { contentsElement, dataElement, sha256, withPolicy } from "./html.mjs";

// Where a served page writes the address at which a copy of the file opens: src/api/takeAlong.ts.
const kStart = '<meta name="attnscope-start" content="" />';
const kMarker = "<!--attnscope-blocks-->";

const block = (id, bytes) => dataElement(id, "text/plain", gzip(bytes).toString("base64"));

// Allows the scripts of the page by their hashes, and its Worker, which is a blob. Nothing is loaded from anywhere.
function policyOf(page) {
  const scripts = [...page.matchAll(/<script type="module">([\s\S]*?)<\/script>/g)];
  const hashes = scripts.map(([, script]) => `'sha256-${sha256(script)}'`);
  return [
    "default-src 'none'",
    `script-src ${hashes.join(" ")} 'wasm-unsafe-eval'`,
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ];
}

export function writeFile(source, { wasm, models, small }, target) {
  const page = readFileSync(source, "utf8");
  if (!page.includes(kMarker)) throw new Error(`${source} has no ${kMarker}`);
  const contents = {
    wasm: "attnscope-wasm",
    files: "attnscope-files",
    models: models.map(({ name, large }) => ({ name, block: `attnscope-model-${name}`, files: listOf(large) })),
  };
  const blocks = [
    contentsElement(contents),
    block(contents.wasm, wasm),
    block(contents.files, packFiles(small)),
    ...models.map(({ name, large }) => block(`attnscope-model-${name}`, packFiles(large))),
  ];
  writeFileSync(
    target,
    withPolicy(page, policyOf(page), kStart).replace(kMarker, () => blocks.join("\n")),
  );
}
