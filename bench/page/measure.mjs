// How the page feels, in numbers: node bench/page/measure.mjs URL [label]
//
// Prints one line of JSON: milliseconds until the overview is drawn and a head opens, bytes of the first load, nodes,
// JavaScript's heap, and what a hover costs the main thread (all that it does in one go; a frame is 16.7 ms). It wants a
// built page (web/node_modules has the driver) and Debian's chromium.
import { existsSync } from "node:fs";
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const [, , url, label = ""] = process.argv;
const kMoves = 60;

const browser = await chromium.launch({
  executablePath: ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path)),
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});

async function newPage() {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.addInitScript(() => localStorage.setItem("attnscope.visited", "1"));
  return page;
}

// When the page says that a picture is complete, in milliseconds after `from` (0: the request).
const drawn = (page, name) =>
  page.waitForFunction((wanted) => performance.getEntriesByName(wanted).at(-1)?.startTime, name, { polling: 5, timeout: 60_000 })
    .then((found) => found.jsonValue());

// The longest and the usual run of the main thread while the pointer moves over the stage.
async function hover(page) {
  const box = await page.locator(".stage").first().boundingBox();
  await page.mouse.move(box.x + 20, box.y + 20);
  await page.waitForTimeout(500);
  await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"] });
  for (let i = 0; i < kMoves; ++i) {
    await page.mouse.move(box.x + 20 + (i * (box.width - 40)) / kMoves, box.y + 40 + (((i * 37) % kMoves) * (box.height - 80)) / kMoves);
    await page.waitForTimeout(20);
  }
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const main = traceEvents.find((event) => event.name === "thread_name" && event.args.name === "CrRendererMain");
  const runs = traceEvents
    .filter((event) => event.name.endsWith("RunTask") && event.pid === main.pid && event.tid === main.tid)
    .map((event) => (event.tdur ?? event.dur) / 1000) // the thread's own time: other programs' work is not the page's
    .sort((a, b) => a - b);
  const busy = runs.filter((ms) => ms > 0.5);
  return { usual: round(busy[Math.floor(busy.length / 2)] ?? 0), longest: round(runs.at(-1) ?? 0) };
}

const round = (value) => Math.round(value * 10) / 10;
const heap = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return round(usedSize / 1e6);
};
const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

const found = { label };
const first = await newPage();
let payload = 0;
first.on("response", async (response) => {
  payload += (await response.request().sizes()).responseBodySize;
});
await first.goto(url);
found.overview_ms = round(await drawn(first, "overview drawn"));
await first.waitForTimeout(300);
found.payload_kb = round(payload / 1000);
found.overview = { nodes: await nodes(first), hover_ms: await hover(first) };

const before = await first.evaluate(() => performance.now());
await first.keyboard.press("3");
found.open_head_ms = round((await drawn(first, "matrix drawn")) - before);
await first.waitForTimeout(500);
found.matrix = { nodes: await nodes(first), hover_ms: await hover(first) };
await first.keyboard.press("2");
await first.waitForTimeout(1500);
found.heads = { nodes: await nodes(first), hover_ms: await hover(first) };
found.heap_mb = await heap(first);
console.log(JSON.stringify(found));
await browser.close();
