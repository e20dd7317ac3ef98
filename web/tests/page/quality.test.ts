import { statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { testLooks } from "./axe";
import {
  address,
  end,
  expect,
  factsOf,
  freshPage,
  kText,
  markVisited,
  rowOf,
  serve,
  serverOnly,
  settled,
  test,
  writeOffline,
} from "./program";

const kViews = [
  "#view=overview",
  "#view=heads&layer=1&head=2&others=1.0,1.1&pins=3,5",
  "#view=matrix&layer=1&head=2&row=3&column=2",
];

testLooks("the page", kViews);

test.describe("with a finger", () => {
  test.use({ viewport: { width: 360, height: 720 }, hasTouch: true, isMobile: true });

  test("the first touch shows what a head is, the second opens it, and the sheet has the numbers", async ({
    page,
    served,
  }) => {
    await page.goto(address(served, "#view=overview&layer=0&head=1"));
    await settled(page);
    const box = (await page.locator(".stage").first().boundingBox())!;
    await page.touchscreen.tap(box.x + 60, box.y + 50);
    await expect(page.locator(".handle")).toContainText("layer 0 · head 0");
    await page.touchscreen.tap(box.x + 60, box.y + 50);
    await expect(page).toHaveURL(/view=matrix&layer=0&head=0/);
    await settled(page);
    await page.touchscreen.tap(box.x + 150, box.y + 150);
    await expect(page).toHaveURL(/row=\d+&column=\d+/);
    await page.locator(".handle").tap();
    await expect(page.locator("aside table")).toBeVisible();
  });
});

test("the page allows no script and no connection but its own, and keeps to it", async ({ page, served }) => {
  serverOnly("its headers");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  const answer = await page.goto(address(served));
  const policy = answer!.headers()["content-security-policy"];
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain("unsafe-eval");
  for (const hash of kViews) {
    await page.goto(address(served, hash));
    await settled(page);
  }
  expect(asked.filter((url) => !url.startsWith(served.url) && !url.startsWith("data:"))).toEqual([]);
});

test("what is first loaded stays small", async ({ page, served }) => {
  serverOnly("its responses");
  const bodies = new Map<string, Promise<Buffer>>();
  page.on("response", (response) => {
    const told = response.headers()["content-type"]?.startsWith("text/event-stream"); // how far something is
    if (!told) bodies.set(response.url(), response.body());
  });
  await page.goto(address(served));
  await settled(page);
  let scripts = 0;
  let all = 0;
  for (const [url, body] of bodies) {
    if (url.startsWith("data:")) continue;
    all += (await body).length;
    if (url.endsWith(".js")) scripts += gzipSync(await body).length;
  }
  expect(scripts).toBeGreaterThan(10_000);
  expect(scripts).toBeLessThan(120_000);
  expect(all).toBeLessThan(1_000_000);
});

test("a program that ended is told of, and the page goes on when it is back", async ({ page: _, browser }) => {
  serverOnly("it ends and is started again");
  const page = await browser.newPage();
  await page.addInitScript(markVisited);
  const first = await serve("--model", "tiny-bert", "--text", kText);
  const port = new URL(first.url).port;
  await page.goto(address(first, "#view=matrix&layer=0&head=0"));
  await settled(page);
  await end(first);
  await page.getByRole("combobox", { name: "Head", exact: true }).selectOption("2");
  await expect(page.getByRole("alert")).toContainText("has ended");
  const second = await serve("--model", "tiny-bert", "--text", kText, "--port", port);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(page).toHaveURL(/head=2/);
  await end(second);
  await page.close();
});

test("an address without a recording says what is wrong", async ({ browser, served }) => {
  const page = await freshPage(browser);
  await page.goto(address(served, "?recording=nobody"));
  await expect(page.getByRole("alert")).toContainText("nobody");
  await page.close();
});

test.describe("an offline file", () => {
  test("shows the same numbers without any network", async ({ page, served }) => {
    serverOnly("attnscope view -o writes it");
    const file = test.info().outputPath("page.html");
    writeOffline(file, "--model", "tiny-bert", "--text", kText);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`file://${file}#view=matrix&layer=1&head=2&row=4&column=3`);
    const weight = (await rowOf(served, 1, 2, 4))[3];
    await expect(page.locator(".weight")).toContainText(weight.toPrecision(3).slice(0, 4));
    await page.keyboard.press("1");
    await expect(page.locator("[data-tour=look]")).toContainText((await factsOf(served)).look_at.reason);
    await page.keyboard.press("2");
    await expect(page.locator("footer")).toContainText("not drawn");
    await expect(page.getByRole("button", { name: "Whole words" })).toHaveCount(0);
    expect(asked.filter((url) => !url.startsWith("file:") && !url.startsWith("data:"))).toEqual([]);
    expect(statSync(file).size).toBeLessThan(1_000_000);
  });

  test("works inside a notebook's frame", async ({ page }) => {
    serverOnly("attnscope view -o writes it");
    const file = test.info().outputPath("framed.html");
    writeOffline(file, "--model", "tiny-bert", "--text", kText);
    const { readFileSync } = await import("node:fs");
    await page.setViewportSize({ width: 1000, height: 700 });
    await page.setContent("<p>before</p><iframe width='960' height='600'></iframe>");
    await page
      .locator("iframe")
      .evaluate((frame, text) => ((frame as HTMLIFrameElement).srcdoc = text), readFileSync(file, "utf8"));
    const frame = page.frameLocator("iframe");
    await expect(frame.locator("[data-tour=look]")).toBeVisible();
    await frame.getByRole("button", { name: "Matrix" }).first().click();
    await expect(frame.getByRole("application")).toBeVisible();
    await frame.getByRole("application").press("Escape");
    await expect(frame.locator("[data-tour=look]")).toBeVisible();
    const { scroll, client } = await frame
      .locator("html")
      .evaluate((html) => ({ scroll: html.scrollHeight, client: html.clientHeight }));
    expect(scroll).toBeLessThanOrEqual(client);
  });
});
