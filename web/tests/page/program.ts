// The page to test, and the built program that serves it or knows what it must show, for as long as a test needs it.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, expect, type Page, test as base } from "@playwright/test";
import { addRule, askedOfWorker, removeRules, type Rule, watchWorkers, workerIsQuiet } from "./pageWorker";
import { missing, pageUrl, type Target } from "./targets";

export const program = process.env.ATTNSCOPE ?? fileURLToPath(new URL("../../../build/attnscope", import.meta.url));

export interface Served {
  url: string; // of the program
  page: string | null; // of the page, if the program does not serve it
  query: string; // what that page shows first
  process: ChildProcess;
}

export const target = (): Target => test.info().project.name as Target;
export const hasWorker = (): boolean => target() !== "server";

// For tests of the program's HTTP server, or of files that it writes.
export const serverOnly = (why: string): void => test.skip(hasWorker(), `of the server: ${why}`);
export const workerOnly = (why: string): void => test.skip(!hasWorker(), `of the page without a server: ${why}`);

async function startProgram(...options: string[]): Promise<Served> {
  const port = options.includes("--port") ? [] : ["--port", "0"];
  const page = process.env.ATTNSCOPE_PAGE ? ["--page", process.env.ATTNSCOPE_PAGE] : []; // instead of the built-in one
  const child = spawn(program, ["view", "--no-open", ...port, ...page, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const url = await new Promise<string>((found, failed) => {
    const listen = (bytes: Buffer) => {
      said += bytes.toString();
      const address = /http:\/\/\S+/.exec(said)?.[0];
      if (address) found(address);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.on("error", failed);
    child.on("exit", (code) => failed(new Error(`attnscope view ended with ${code}: ${said}`)));
  });
  return { url, page: null, query: "", process: child };
}

// The same for a page without a server: its address says what it shows first.
async function pageWith(served: Served, which: "file" | "site", options: string[]): Promise<Served> {
  const value = (name: string) => options[options.indexOf(`--${name}`) + 1];
  const names = ["model", "text", "pair"].filter((name) => options.includes(`--${name}`));
  const isDefault = value("model") === "tiny-bert" && value("text") === kText && names.length === 2;
  const query = new URLSearchParams(names.map((name) => [name, value(name)]));
  return { ...served, page: await pageUrl(which), query: isDefault || !names.length ? "" : `?${query.toString()}` };
}

// What a test looks at, in the target that is tested.
export async function serve(...options: string[]): Promise<Served> {
  const served = await startProgram(...options);
  const which = target();
  return which === "server" ? served : pageWith(served, which, options);
}

export function end(served: Served): Promise<void> {
  return new Promise((ended) => {
    if (served.process.exitCode !== null) return ended();
    served.process.removeAllListeners("exit");
    served.process.once("exit", () => ended());
    served.process.kill("SIGINT");
  });
}

// What the command line says of the same.
export function told<T>(...options: string[]): T {
  const said = execFileSync(program, [...options, "--json"], { stdio: ["ignore", "pipe", "pipe"] });
  return JSON.parse(said.toString()) as T;
}

export function writeOffline(file: string, ...options: string[]): void {
  execFileSync(program, ["view", "-o", file, ...options], { stdio: ["ignore", "ignore", "pipe"] });
}

export const kText = "The film was great and the actors were wonderful, but the ending was weak.";

// Frames without a store have nothing to remember.
export function markVisited(): void {
  try {
    localStorage.setItem("attnscope.visited", "1");
  } catch {
    return;
  }
}

// All files share one store, which outlives the context of a test.
async function clearFileStorage(page: Page): Promise<void> {
  await page.goto(new URL("viridis.ts", import.meta.url).href);
  await page.evaluate(() => localStorage.clear());
}

// A page that nobody has to close the greeting of, and that fails a test by anything it complains about.
export const test = base.extend<{ visited: boolean; available: void }, { served: Served }>({
  visited: [true, { option: true }],
  available: [
    async ({}, use, info) => {
      const why = missing(info.project.name as Target);
      if (why && process.env.ATTNSCOPE_NEEDS_WASM) throw new Error(why);
      info.skip(why !== null, why ?? "");
      await use();
    },
    { auto: true },
  ],
  served: [
    async ({}, use, info) => {
      const options = ["--model", "tiny-bert", "--text", kText];
      const which = info.project.name as Target;
      const started = await startProgram(...options);
      const served = which === "server" || missing(which) ? started : await pageWith(started, which, options);
      await use(served);
      await end(served);
    },
    { scope: "worker" },
  ],
  page: async ({ page, visited }, use) => {
    const complaints: string[] = [];
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("pageerror", (problem) => complaints.push(String(problem)));
    if (target() === "file") await clearFileStorage(page);
    if (visited) await page.addInitScript(markVisited);
    if (hasWorker()) await page.addInitScript(watchWorkers);
    await use(page);
    expect(complaints).toEqual([]);
  },
});

export { expect };

// A page that may complain, with nothing in its store.
export async function freshPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage({ offline: target() === "file", ...options });
  if (hasWorker()) await page.addInitScript(watchWorkers);
  return page;
}

// Of the page ("#view=matrix", "learn#masks"), or of the program's API ("api/models").
export function address(served: Served, place = ""): string {
  if (served.page === null || place.startsWith("api/")) return served.url.replace(/\/$/, "") + "/" + place;
  if (place.startsWith("learn")) return served.page + place.replace("learn", "?learn");
  return served.page + (place.startsWith("?") ? "" : served.query) + place;
}

// When nothing more is on its way and what has come is drawn.
export async function settled(page: Page): Promise<void> {
  if (hasWorker() && (await page.evaluate(() => window.watched !== undefined))) await workerIsQuiet(page);
  else await page.waitForLoadState("networkidle");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// ---- requests of the page, over HTTP or to its Worker ----

// What is asked for from now on: "POST api/recordings {...}".
export function watchRequests(page: Page): { clear(): Promise<void>; all(): Promise<string[]> } {
  const lines: string[] = [];
  let from = 0;
  const worker = async () =>
    (await askedOfWorker(page)).map(({ method, url, body }) => `${method} /${url}${body && ` ${body}`}`);
  page.on("request", (one) => lines.push(`${one.method()} ${one.url()}${one.postData() ? ` ${one.postData()}` : ""}`));
  return {
    clear: async () => void (from = hasWorker() ? (await worker()).length : lines.length),
    all: async () => (hasWorker() ? await worker() : lines).slice(from),
  };
}

// Holds or replaces answers from now on; the page is open.
export async function intercept(page: Page, rule: Rule): Promise<void> {
  if (hasWorker()) return void (await addRule(page, rule));
  const { do: does } = rule;
  if (does.what === "events") return feedFetch(page, rule, does.events);
  let times = rule.times ?? Infinity;
  await page.route(new RegExp(rule.url), async (route) => {
    const matches = new RegExp(rule.body ?? "").test(route.request().postData() ?? "");
    if (!matches || times-- <= 0) return route.continue();
    if (does.what === "answer") await route.fulfill({ status: does.status, json: does.json });
  });
}

export const stopIntercepting = (page: Page): Promise<unknown> =>
  hasWorker() ? removeRules(page) : page.unrouteAll({ behavior: "ignoreErrors" });

// A stream that does not end: no route can give one.
const feedFetch = (page: Page, { url, body = "" }: Rule, events: [name: string, data: unknown][]): Promise<void> =>
  page.evaluate(
    ([wantedUrl, wantedBody, text]) => {
      const real = window.fetch;
      window.fetch = (to, init) => {
        const matches = new RegExp(wantedUrl).test(String(to)) && new RegExp(wantedBody).test(String(init?.body ?? ""));
        if (!matches) return real(to, init);
        const stream = new ReadableStream({ start: (out) => out.enqueue(new TextEncoder().encode(text)) });
        return Promise.resolve(new Response(stream, { headers: { "Content-Type": "text/event-stream" } }));
      };
    },
    [url, body, events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("")],
  );

export interface Facts {
  stacks: {
    kind: string;
    layers: number;
    heads: number;
    queries: number;
    keys: number;
    query_tokens: { text: string }[];
  }[];
  look_at: { layer: number; head: number; reason: string };
}

export async function factsOf(served: Served, query = ""): Promise<Facts> {
  return (await fetch(address(served, `api/recordings/1${query}`))).json() as Promise<Facts>;
}

export async function rowOf(served: Served, layer: number, head: number, row: number, query = ""): Promise<number[]> {
  const answer = await fetch(
    address(served, `api/recordings/1/row?kind=self&layer=${layer}&head=${head}&row=${row}${query}`),
  );
  return [...new Float32Array(await answer.arrayBuffer())];
}
