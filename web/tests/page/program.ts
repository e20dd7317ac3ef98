// The built program, serving a page for as long as a test needs it.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type ConsoleMessage, expect, type Page, test as base } from "@playwright/test";

export const program = process.env.ATTNSCOPE ?? fileURLToPath(new URL("../../../build/attnscope", import.meta.url));

export interface Served {
  url: string;
  process: ChildProcess;
}

export async function serve(...options: string[]): Promise<Served> {
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
  return { url, process: child };
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

// A page that nobody has to close the greeting of, and that fails a test by anything it complains about.
export const test = base.extend<{ visited: boolean }, { served: Served }>({
  visited: [true, { option: true }],
  served: [
    async ({}, use) => {
      const served = await serve("--model", "tiny-bert", "--text", kText);
      await use(served);
      await end(served);
    },
    { scope: "worker" },
  ],
  page: async ({ page, visited }, use) => {
    const complaints: string[] = [];
    const listen = (message: ConsoleMessage) => message.type() === "error" && complaints.push(message.text());
    page.on("console", listen);
    page.on("pageerror", (problem) => complaints.push(String(problem)));
    if (visited) await page.addInitScript(markVisited);
    await use(page);
    expect(complaints).toEqual([]);
  },
});

export { expect };

export const address = (served: Served, hash = ""): string => served.url.replace(/\/$/, "") + "/" + hash;

// When nothing more is on its way and what has come is drawn.
export async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

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
