// How the page feels, in numbers: node bench/page/ours.mjs URL
//
// Prints one line of JSON: milliseconds until the overview is drawn and a head opens, bytes of the first load, nodes,
// JavaScript's heap, and what a hover costs the main thread.
import { browser, heap, hover, newPage, nodes, round } from "./chromium.mjs";

const [, , url] = process.argv;
const kPatience = 600_000; // all weights of a long text are looked over first

// When the page says that a picture is complete.
const drawn = (page, name) =>
  page
    .waitForFunction((wanted) => performance.getEntriesByName(wanted).at(-1)?.startTime, name, { polling: 5, timeout: kPatience })
    .then((found) => found.jsonValue());

const stage = (page) => page.locator(".stage").first().boundingBox();

const page = await newPage();
await page.addInitScript(() => localStorage.setItem("attnscope.visited", "1"));
let payload = 0, script = 0;
page.on("response", async (response) => {
  const { responseBodySize } = await response.request().sizes();
  payload += responseBodySize;
  if (response.url().endsWith(".js")) script += responseBodySize;
});
await page.goto(url);
const found = { drawn_ms: round(await drawn(page, "overview drawn")) };
await page.waitForTimeout(300);
found.payload_kb = round(payload / 1000);
found.script_kb = round(script / 1000);
found.overview = { nodes: await nodes(page), hover_ms: await hover(page, await stage(page)) };

const before = await page.evaluate(() => performance.now());
await page.keyboard.press("3");
found.head_ms = round((await drawn(page, "matrix drawn")) - before);
await page.waitForTimeout(500);
found.matrix = { nodes: await nodes(page), hover_ms: await hover(page, await stage(page)) };

// From the whole head to single cells, and along them.
await page.getByRole("application").focus();
for (let i = 0; i < 24; ++i) await page.keyboard.press("+");
await page.waitForLoadState("networkidle");
const { x, y, width, height } = await stage(page);
await page.mouse.move(x + width / 2, y + height / 2);
await page.mouse.down();
found.panned = { hover_ms: await hover(page, { x, y, width, height }) };
await page.mouse.up();

await page.keyboard.press("2");
await page.waitForTimeout(1500);
found.heads = { nodes: await nodes(page), hover_ms: await hover(page, await stage(page)) };
found.heap_mb = await heap(page);
console.log(JSON.stringify(found));
await browser.close();
