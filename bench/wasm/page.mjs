// How the page without a server feels: node bench/wasm/page.mjs DIST ROUNDS
//
// Prints one line of JSON: milliseconds until attnscope.html, opened from the disk, shows the first picture, and until
// it shows a new text, after Enter and after the last letter; the memory of its module; bytes of the file; and what a
// browser fetches of site/ besides models before the first picture, gzipped. Times are medians over the rounds.
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { browser, newPage, round } from "../page/chromium.mjs";

const [, , dist, rounds] = process.argv;
const kPatience = 60_000;
const kTexts = [
  "The capital of France is [MASK].",
  "She put the [MASK] on the table and left.",
  "The film was great but the ending was weak.",
  "He walked to the river because it was [MASK].",
  "Two dogs and a cat sat under the old tree.",
  "I have never seen a [MASK] like this before.",
];
const kTypes = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

const median = (values) => round([...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]);

// When the overview was first drawn with thumbnails that arrived after `since`, in milliseconds since the page began to
// load. A page that waits for an answer draws the old picture again, which does not count.
const drawn = (page, since = 0) =>
  page
    .waitForFunction(
      (after) => {
        const answered = benchTimes.thumbnails.find((at) => at > after);
        return answered && benchTimes.drawn.find((at) => at > answered);
      },
      since,
      { polling: 5, timeout: kPatience },
    )
    .then((found) => found.jsonValue());

// In the page, before its scripts: a visitor who has been here before. Notes when thumbnails arrive and when the overview
// is drawn, and has the Worker keep its module's memory where it can be seen.
function prepare() {
  localStorage.setItem("attnscope.visited", "1");
  globalThis.benchTimes = { thumbnails: [], drawn: [] };
  const mark = performance.mark.bind(performance);
  performance.mark = (name, options) => {
    if (name === "overview drawn") benchTimes.drawn.push(performance.now());
    return mark(name, options);
  };
  const kept = `{const make = WebAssembly.instantiate; WebAssembly.instantiate = async (...given) => {
    const made = await make(...given); self.benchMemory = (made.instance ?? made).exports.memory; return made; };}`;
  const RealBlob = Blob;
  globalThis.Blob = class extends RealBlob {
    constructor(parts = [], options = {}) {
      super(options.type?.startsWith("text/javascript") ? [kept, ...parts] : parts, options);
    }
  };
  const asked = new Set();
  const RealWorker = Worker;
  globalThis.Worker = class extends RealWorker {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        if (data.type === "end" && asked.delete(data.id)) benchTimes.thumbnails.push(performance.now());
      });
    }
    postMessage(message, ...rest) {
      if (message.type === "request" && message.request.path.endsWith("/thumbnails")) asked.add(message.id);
      super.postMessage(message, ...rest);
    }
  };
}

// From Enter to the picture; or from the last letter on, which includes the page's pause for further letters.
async function write(page, text, enter) {
  const box = page.getByRole("textbox", { name: "Text", exact: true }).first();
  const before = await box.evaluate(
    (element, [written, press]) => {
      const now = performance.now();
      element.value = written;
      element.dispatchEvent(new InputEvent("input", { bubbles: true }));
      if (press) element.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
      return now;
    },
    [text, enter],
  );
  const took = (await drawn(page, before)) - before;
  await page.waitForTimeout(300); // what the page does afterwards
  return took;
}

async function ofFile(url) {
  const page = await newPage();
  await page.addInitScript(prepare);
  await page.goto(url);
  const first = await drawn(page);
  const [worker] = page.workers();
  const memory = (await worker?.evaluate(() => self.benchMemory?.buffer.byteLength)) ?? null;
  await page.waitForTimeout(500);
  const entered = [], typed = [];
  for (const text of kTexts) entered.push(await write(page, text, true));
  for (const text of kTexts) typed.push(await write(page, `${text} Yes.`, false));
  await page.context().close();
  return { first, entered, typed, memory };
}

// Serves a folder, and adds up what is fetched of it.
function serve(folder, fetched) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://host").pathname)).slice(1) || "index.html";
    try {
      const body = gzipSync(readFileSync(join(folder, path)), { level: 9 });
      fetched.push({ path, bytes: body.length });
      const type = kTypes[extname(path)] ?? "application/octet-stream";
      response.writeHead(200, { "Content-Type": type, "Content-Encoding": "gzip" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  return new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(server)));
}

async function ofSite(folder) {
  const fetched = [];
  const server = await serve(folder, fetched);
  const page = await newPage();
  await page.addInitScript(prepare);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await drawn(page);
  await page.context().close();
  server.close();
  const bytes = (some) => some.reduce((sum, one) => sum + one.bytes, 0);
  return {
    kb: round(bytes(fetched.filter(({ path }) => !path.startsWith("models/"))) / 1000),
    module_kb: round(bytes(fetched.filter(({ path }) => path.endsWith(".wasm"))) / 1000),
  };
}

const file = join(dist, "attnscope.html");
const seen = [];
for (let n = 0; n < Number(rounds); ++n) seen.push(await ofFile(pathToFileURL(file).href));
const found = {
  first_ms: median(seen.map(({ first }) => first)),
  entered_ms: median(seen.flatMap(({ entered }) => entered)),
  typed_ms: median(seen.flatMap(({ typed }) => typed)),
  memory_mb: seen[0].memory === null ? null : round(seen[0].memory / 1e6),
  file_mb: round(statSync(file).size / 1e6),
  site: await ofSite(join(dist, "site")),
};
console.log(JSON.stringify(found));
await browser.close();
