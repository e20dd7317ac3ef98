// The page without a server: what can go wrong, what it may do, and what it shows inside another page.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "@playwright/test";
import { findings } from "./axe";
import { addRule, askedOfWorker, workersOf } from "./pageWorker";
import { address, expect, freshPage, kText, settled, target, test, workerOnly } from "./program";
import { kFile, kSite, serveFiles } from "./targets";

test.beforeEach(() => workerOnly("nothing of it is a server's"));

const written = (page: Page) => page.getByRole("textbox", { name: "Text", exact: true }).first();
const panel = (page: Page) => page.locator("aside[data-tour=panel]");

test("nothing is asked of any network, and the policy is kept to", async ({ page, served }) => {
  test.skip(target() !== "file", "a site loads its own files");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.addInitScript(() =>
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    ),
  );
  for (const place of ["", "#view=text&model=tiny-gpt&text=Once", "#view=compare", "learn", "learn#bert"]) {
    await page.goto(address(served, place));
    await settled(page);
  }
  expect(asked.filter((url) => !/^(file|blob|data):/.test(url))).toEqual([]);
  expect(asked.filter((url) => url.startsWith("file:") && !url.startsWith(served.page!))).toEqual([]);
});

test("a site loads nothing but its own files, and little before the first model", async ({ page, served }) => {
  test.skip(target() !== "site", "a file loads nothing");
  const bodies = new Map<string, Promise<Buffer>>();
  page.on("response", (response) => bodies.set(response.url(), response.body()));
  await page.goto(address(served));
  await settled(page);
  expect([...bodies.keys()].filter((url) => !url.startsWith(served.page!) && !/^(data|blob):/.test(url))).toEqual([]);
  let first = 0;
  for (const [url, body] of bodies)
    if (/^http/.test(url) && !url.includes("/models/")) first += gzipSync(await body, { level: 6 }).length;
  expect(first).toBeGreaterThan(1e6);
  expect(first).toBeLessThan(2.5e6);
  const models = [...bodies.keys()].filter((url) => url.includes("/models/"));
  expect(models.every((url) => url.includes("/tiny-bert/"))).toBe(true);
});

test("a host that knows no type of WebAssembly serves it all the same", async ({ browser }) => {
  test.skip(target() !== "site", "a file has no types");
  const { url, server } = await serveFiles(kSite, {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
  });
  const page = await freshPage(browser);
  await page.goto(url);
  await expect(page.locator("[data-tour=look]")).toBeVisible();
  await page.close();
  server.close();
});

test("the file is as small as promised", () => {
  expect(readFileSync(kFile).length).toBeLessThan(24e6);
});

test.describe("work that is stopped", () => {
  // The time until a lesson is there, while another one is computed or while nothing is. Measured in the page: from
  // outside, it is looked for a few times a second only.
  const opened = (page: Page): Promise<number> =>
    page.evaluate(() => {
      const start = performance.now();
      location.hash = "#dot-product";
      return new Promise<number>((done) => {
        const look = () => {
          const title = document.querySelector("article")?.getAttribute("aria-label");
          if (title === "Attention by hand") done(Math.round(performance.now() - start));
          else requestAnimationFrame(look);
        };
        look();
      });
    });

  test("ends at once, and what is wanted instead goes on", async ({ page, served }) => {
    await page.goto(address(served, "learn#masks"));
    await expect(page.locator("article")).toBeVisible();
    await settled(page);
    const idle = await opened(page);
    const { ended } = await workersOf(page);
    await page.evaluate(() => (location.hash = "#speed")); // takes seconds
    await page.waitForTimeout(500);
    expect((await askedOfWorker(page)).at(-1)!.url).toContain("speed");
    const busy = await opened(page);
    expect((await workersOf(page)).ended).toBe(ended + 1);
    test.info().annotations.push({ type: "ms", description: `${busy}; ${idle} without work to stop` });
    expect(busy - idle).toBeLessThan(process.env.CI ? 2000 : 500);
    await expect(page.getByRole("alert")).toHaveCount(0);
  });

  test("and has not begun is never sent", async ({ page, served }) => {
    await page.goto(address(served, "#view=overview"));
    await settled(page);
    await addRule(page, { url: "api/recordings$", body: "first", do: { what: "hold" } });
    await written(page).fill("the first text");
    await expect.poll(async () => (await askedOfWorker(page)).some(({ body }) => body.includes("first"))).toBe(true);
    for (const text of ["second", "third"]) await written(page).fill(`the ${text} text`);
    await expect(page).toHaveURL(/third/);
    await settled(page);
    const bodies = (await askedOfWorker(page)).map(({ body }) => body);
    expect(bodies.some((body) => body.includes("second text"))).toBe(false);
    await expect(panel(page)).toBeVisible();
  });
});

test("a crash is said in one sentence, and everything goes on", async ({ page, served }) => {
  await page.goto(address(served, "#view=matrix&layer=1&head=2"));
  await settled(page);
  await addRule(page, { url: "api/recordings$", body: "crash", times: 1, do: { what: "crash" } });
  await written(page).fill("a text to crash with");
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("The computation crashed and was started anew");
  expect((await workersOf(page)).ended).toBe(1);
  expect(await findings(page)).toEqual([]);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(alert).toHaveCount(0);
  await settled(page);
  await expect(page).toHaveURL(/text=a%20text%20to%20crash/);
  await page.getByRole("button", { name: "中文" }).click();
  await addRule(page, { url: "api/recordings$", body: "again", times: 1, do: { what: "crash" } });
  await page.getByRole("textbox", { name: "文本", exact: true }).first().fill("again");
  await expect(alert).toContainText("计算崩溃后已重新启动");
});

test.describe("a browser that cannot run it", () => {
  // Takes away what the page needs, before its script runs.
  const cases: [string, () => void, RegExp, RegExp][] = [
    [
      "has no SIMD",
      () => void (WebAssembly.validate = () => false),
      /needs WebAssembly with SIMD/,
      /需要支持 SIMD 和异常的 WebAssembly/,
    ],
    [
      "cannot unpack",
      () => void delete (globalThis as { DecompressionStream?: unknown }).DecompressionStream,
      /needs DecompressionStream/,
      /需要 DecompressionStream/,
    ],
    [
      "forbids Workers",
      () => {
        window.Worker = class {
          constructor() {
            throw new DOMException("forbidden", "SecurityError");
          }
        } as unknown as typeof Worker;
      },
      /does not let the page start a Worker/,
      /不允许本页启动 Worker/,
    ],
    [
      "cannot compile the module",
      () => {
        WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError("no"));
        WebAssembly.compileStreaming = WebAssembly.compile as unknown as typeof WebAssembly.compileStreaming;
      },
      /cannot be started/,
      /无法启动/,
    ],
    [
      "has no memory left",
      () => {
        window.Worker = class extends Worker {
          override postMessage(): void {
            const data = { type: "crashed", id: null, outOfMemory: true, message: "" };
            setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
          }
        };
      },
      /more memory than the browser gives/,
      /所需内存超出/,
    ],
  ];
  for (const [what, takeAway, sentence, chinese] of cases) {
    test(`and ${what} says so`, async ({ browser, served }) => {
      const page = await freshPage(browser);
      await page.addInitScript(takeAway);
      await page.goto(address(served));
      await expect(page.getByRole("alert")).toHaveText(sentence);
      await expect(page.getByRole("alert")).toHaveCount(1);
      await expect(page.locator("nav")).toHaveCount(0);
      expect(await findings(page)).toEqual([]);
      await page.getByRole("button", { name: "中文" }).click();
      await expect(page.getByRole("alert")).toHaveText(chinese);
      await page.close();
    });
  }

  test("keeps no choices if there is no store, and works", async ({ browser, served }) => {
    const page = await freshPage(browser);
    await page.addInitScript(() =>
      Object.defineProperty(window, "localStorage", {
        get() {
          throw new DOMException("denied", "SecurityError");
        },
      }),
    );
    await page.goto(address(served));
    await expect(page.locator("[data-tour=look]")).toBeVisible();
    await page.getByRole("button", { name: "中文" }).click();
    await expect(page.getByRole("navigation")).toContainText("总览");
    await page.close();
  });
});

test("the course and the microscope lead to each other, and the address brings a lesson back", async ({
  page,
  served,
}) => {
  await page.goto(address(served, "learn#masks"));
  await expect(page.locator("article")).toBeVisible();
  await page.getByRole("link", { name: "All lessons" }).click();
  await expect(page.locator("ol li").first()).toBeVisible();
  await page.goBack();
  await expect(page.locator("article")).toBeVisible();
  await page.getByRole("link", { name: "Microscope" }).click();
  await expect(page.locator("[data-tour=look]")).toBeVisible();
  await expect(page).not.toHaveURL(/learn/);
});

// A page of the reader's own, with the microscope in a frame.
async function openHost(page: Page, inside: string): Promise<void> {
  const html = `<!doctype html><title>host</title><p>before</p><iframe width="800" height="500" src="${inside}"></iframe>`;
  const file = test.info().outputPath("index.html");
  writeFileSync(file, html);
  const host = target() === "site" ? await serveFiles(dirname(file)) : null;
  await page.goto(host?.url ?? `file://${file}`);
  host?.server.unref();
}

test("inside another page it is a live figure: the view and nothing around it", async ({ page, served }) => {
  const query = new URLSearchParams({ view: "matrix", model: "tiny-bert", text: kText, layer: "1", head: "2" });
  const place = `?embed#${query.toString()}`;
  await openHost(page, address(served, place).replaceAll("&", "&amp;"));
  const frame = page.frameLocator("iframe");
  await expect(frame.getByRole("application")).toBeVisible();
  for (const role of ["navigation", "banner", "contentinfo", "complementary"] as const)
    await expect(frame.getByRole(role)).toHaveCount(0);
  const box = (await frame.locator(".stage").first().boundingBox())!;
  expect([box.width > 780, box.height]).toEqual([true, 500]);
  await frame.getByRole("application").press("+");
  const link = frame.getByRole("link", { name: /attnscope/ });
  await expect(link).toHaveAttribute("href", /^[^?]*\??#view=matrix&model=tiny-bert&text=.*window=/);
});
