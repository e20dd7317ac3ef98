// dist/attnscope.html in Firefox, as a reader opens it: node smoke.mjs [FILE]. Playwright's journeys cover Chromium; its
// Firefox is a build of its own, which no package has, whereas Puppeteer drives the one of the distribution.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const file = resolve(process.argv[2] ?? "dist/attnscope.html");
const firefox = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => existsSync(path));
if (!firefox) throw new Error("there is no Firefox");

const browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true });
const page = await browser.newPage();
const complaints = [];
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
page.on("pageerror", (problem) => complaints.push(String(problem)));

const shows = (text) =>
  page.waitForFunction((wanted) => document.body.innerText.includes(wanted), { timeout: 60_000 }, text);
const click = async (text) => {
  const found = await page.waitForSelector(`::-p-text(${text})`);
  await found.click();
};

async function step(name, work) {
  const start = performance.now();
  await work();
  console.log(`${name}: ${Math.round(performance.now() - start)} ms`);
}

try {
  await page.setViewport({ width: 1280, height: 800 });
  await step("opens", async () => {
    await page.goto(pathToFileURL(file).href, { waitUntil: "domcontentloaded" });
    await shows("Worth a look");
  });
  await step("reads a new text", async () => {
    const text = "The quick brown fox jumps over the lazy dog.";
    await page.goto(`${pathToFileURL(file).href}#model=tiny-bert&text=${encodeURIComponent(text)}&view=text`);
    await shows("jumps");
  });
  await step("predicts the next token", async () => {
    await page.goto(`${pathToFileURL(file).href}#model=tiny-gpt&text=This+movie+is&view=text`);
    await shows("Next token");
  });
  await step("opens a lesson", async () => {
    await page.goto(`${pathToFileURL(file).href}?learn`, { waitUntil: "domcontentloaded" });
    await click("Why divide by");
    await shows("softmax");
  });
  if (complaints.length) throw new Error(complaints.join("\n"));
  console.log("4 passed, 0 failed");
} finally {
  await browser.close();
}
