// What ours.mjs and peer.mjs share: a browser, and what a page costs it. web/node_modules has the driver.
import { existsSync } from "node:fs";
import { chromium } from "../../web/node_modules/@playwright/test/index.mjs";

const kMoves = 60;
const kPrograms = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/usr/bin/chromium-headless-shell"];

export const browser = await chromium.launch({
  executablePath: kPrograms.find((path) => existsSync(path)),
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});

export const newPage = async () =>
  (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();

export const round = (value) => Math.round(value * 10) / 10;
export const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

export async function heap(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return round(usedSize / 1e6);
}

// The longest and the usual run of the main thread while the pointer moves over a box: all that it does in one go. A
// frame is 16.7 ms.
export async function hover(page, box) {
  await page.mouse.move(box.x + 20, box.y + 20);
  await page.waitForTimeout(500);
  await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"] });
  for (let i = 0; i < kMoves; ++i) {
    const x = box.x + 20 + (i * (box.width - 40)) / kMoves;
    const y = box.y + 40 + (((i * 37) % kMoves) * (box.height - 80)) / kMoves;
    await page.mouse.move(x, y);
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
