// Packs the page that needs no server: DIST/attnscope.html, one file, and DIST/site/, files for any web host.
//
//   node web/pack/pack.mjs --wasm build-wasm/attnscope.wasm --page build/web/app --models models --lessons lessons
//                          --offline build/web/dist/offline.html --out dist [--only tiny-bert,...]
//
// The page is what vite writes in its modes "file" (app.html) and "site" (site/). The same input gives the same bytes.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readLessons, readModels, readOffline } from "./contents.mjs";
import { writeFile } from "./file.mjs";
import { writeSite } from "./site.mjs";

const kNeeded = ["wasm", "page", "models", "lessons", "offline", "out"];

function options() {
  const string = { type: "string" };
  const known = Object.fromEntries([...kNeeded, "only"].map((name) => [name, string]));
  const { values } = parseArgs({ options: known });
  const missing = kNeeded.filter((name) => !values[name]);
  if (missing.length) throw new Error(`missing: ${missing.map((name) => `--${name}`).join(", ")}`);
  return values;
}

function main() {
  const { wasm, page, models, lessons, offline, out, only } = options();
  const packed = readModels(models, only?.split(","));
  const contents = {
    wasm: readFileSync(wasm),
    models: packed,
    small: [...packed.flatMap((model) => model.small), ...readLessons(lessons), ...readOffline(offline)],
  };
  mkdirSync(out, { recursive: true });
  if (existsSync(join(page, "app.html"))) writeFile(join(page, "app.html"), contents, join(out, "attnscope.html"));
  if (existsSync(join(page, "site"))) writeSite(join(page, "site"), contents, join(out, "site"));
}

try {
  main();
} catch (problem) {
  console.error(`pack: ${problem.message}`);
  process.exit(1);
}
