// How another program's page feels: node bench/page/peer.mjs FILE.html LIBRARIES
//
// Prints one line of JSON as ours.mjs does. Drawn is when the page has stopped changing. Scripts that the page would
// fetch from elsewhere come from LIBRARIES/node_modules: the network is nobody's fault.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { browser, heap, hover, newPage, nodes, round } from "./chromium.mjs";

const [, , file, libraries] = process.argv;
const kQuiet = 1000; // milliseconds without a change
const kPatience = 180_000;
const kLocal = [
  [/require(\.min)?\.js/, "requirejs/require.js"],
  [/d3(\.min)?(\.js)?$/, "d3/dist/d3.min.js"],
  [/jquery(\.min)?(\.js)?$/, "jquery/dist/jquery.min.js"],
];

const page = await newPage();
let crashed = false;
page.on("crash", () => (crashed = true));
await page.route(/^https?:/, (route) => {
  const [, path] = kLocal.find(([name]) => name.test(new URL(route.request().url()).pathname)) ?? [];
  return path
    ? route.fulfill({ contentType: "text/javascript", body: readFileSync(`${libraries}/node_modules/${path}`) })
    : route.abort();
});
await page.addInitScript(() => {
  globalThis.changed = 0;
  new MutationObserver(() => (globalThis.changed = performance.now())).observe(document, {
    attributes: true,
    childList: true,
    subtree: true,
  });
});

// In the page: while it works, nothing here runs.
const settled = (quiet) =>
  new Promise((done) => {
    const look = () => {
      const still = globalThis.changed > 0 && performance.now() - globalThis.changed > quiet;
      if (still && document.readyState === "complete") requestAnimationFrame(() => done(globalThis.changed));
      else setTimeout(look, 50);
    };
    look();
  });

// What of the largest picture is on the screen.
const largestPicture = () => {
  const boxes = [...document.querySelectorAll("svg, canvas")].map((picture) => {
    const { left, top, right, bottom } = picture.getBoundingClientRect();
    const [x, y] = [Math.max(left, 0), Math.max(top, 0)];
    return { x, y, width: Math.min(right, innerWidth) - x, height: Math.min(bottom, innerHeight) - y };
  });
  return boxes.reduce((a, b) => (b.width * b.height > a.width * a.height ? b : a));
};

const late = new Promise((_, fail) => setTimeout(() => fail(new Error(`not drawn after ${kPatience / 1000} s`)), kPatience));

async function measured() {
  await page.goto(pathToFileURL(file).href, { timeout: kPatience });
  const found = { drawn_ms: round(await page.evaluate(settled, kQuiet)) };
  found.nodes = await nodes(page);
  found.hover_ms = await hover(page, await page.evaluate(largestPicture));
  found.heap_mb = await heap(page);
  return found;
}

try {
  console.log(JSON.stringify(await Promise.race([measured(), late])));
} catch (problem) {
  console.log(JSON.stringify({ failed: crashed ? "the tab crashed" : problem.message.split("\n")[0] }));
}
await Promise.race([browser.close(), new Promise((done) => setTimeout(done, 2000))]);
process.exit(0);
