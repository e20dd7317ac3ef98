import { execFileSync } from "node:child_process";
import type { Page } from "@playwright/test";
import { testLooks } from "./axe";
import { chooseFiles } from "./ownFiles";
import { expectSame } from "./near";
import { address, end, expect, factsOf, hasWorker, kText, program, serve, settled, test } from "./program";

interface Trace {
  q: number[];
  k: number[];
  products: number[];
  dot: number;
  score: number;
  lse: number;
  weight: number;
  share: number;
}

const kPlace = "#view=trace&layer=1&head=2&row=4&column=3";
const panel = (page: Page) => page.locator("aside[data-tour=panel]");
const bars = (page: Page, term: string) => page.locator(`[data-bars=${term}] canvas`);

function traced(model: string, text: string, layer: number, head: number, row: number, column: number): Trace {
  const place = ["--layer", layer, "--head", head, "--query", row, "--key", column].map(String);
  return JSON.parse(
    execFileSync(program, ["trace", "--model", model, "--text", text, ...place, "--json"], {}).toString(),
  );
}

const three = (value: number) => new RegExp(value.toPrecision(3).slice(0, 4).replace(/[.-]/g, "\\$&"));

test("the numbers of a weight are those that the command line prints", async ({ page, served }) => {
  const trace = traced("tiny-bert", kText, 1, 2, 4, 3);
  const answer = await fetch(address(served, "api/recordings/1/trace?kind=self&layer=1&head=2&row=4&column=3"));
  expect(await answer.json()).toEqual({ ...trace, missing: [] });
  await page.goto(address(served, kPlace));
  for (const term of ["dot", "score", "lse", "weight"] as const) {
    await page
      .locator(`.story button[data-term=${term}]`, { hasText: three(trace[term]) })
      .first()
      .hover();
    const said = await panel(page).locator(".exact").innerText();
    expectSame(Math.fround(Number(said)), Math.fround(trace[term]));
  }
  await expect(page.locator(".story button[data-term=share]").last()).toHaveText(/%/);
});

test("a bar shows its dimension exactly, and arrows move over all of them", async ({ page, served }) => {
  const { q, k, products } = traced("tiny-bert", kText, 1, 2, 4, 3);
  await page.goto(address(served, kPlace));
  const box = (await bars(page, "products").boundingBox())!;
  const at = (d: number) => ({ x: ((d + 0.5) * box.width) / products.length, y: box.height / 2 });
  const exact = async () => (await panel(page).locator(".term dd").allInnerTexts()).slice(0, 3).map(Number);
  await bars(page, "products").hover({ position: at(7) });
  await expect(panel(page).locator(".term h3")).toHaveText("dimension 7");
  expectSame((await exact()).map(Math.fround), [q[7], k[7], products[7]].map(Math.fround));
  await page.mouse.move(10, 10);
  await page.getByRole("slider").focus();
  await page.keyboard.press("End");
  await expect(panel(page).locator(".term h3")).toHaveText(`dimension ${products.length - 1}`);
  await page.getByRole("button", { name: "By size" }).click();
  await page.getByRole("slider").focus();
  await page.keyboard.press("Home");
  const largest = products.map(Math.abs).indexOf(Math.max(...products.map(Math.abs)));
  await expect(panel(page).locator(".term h3")).toHaveText(`dimension ${largest}`);
  await page.keyboard.press("Escape");
  await expect(panel(page).locator(".term h3")).toHaveCount(0);
  await expect(page).toHaveURL(/view=trace/);
});

test("a number of the formula lights up what made it", async ({ page, served }) => {
  await page.goto(address(served, kPlace));
  const lit = () =>
    page
      .locator("[data-bars] button.lit")
      .evaluateAll((all) => all.map((button) => button.getAttribute("data-term")).sort());
  await page.locator(".story .formula button[data-term=products]").hover();
  await expect.poll(lit).toEqual(["k", "products", "q"]);
  await page.locator(".story .formula button[data-term=contribution]").first().focus();
  await page.mouse.move(5, 5);
  await expect.poll(lit).toEqual(["contribution", "v"]);
  await page.locator(".story .formula button[data-term=share]").first().click();
  await page.mouse.move(5, 5);
  await page.locator("h1").click();
  await expect.poll(lit).toEqual(["contribution", "head_output"]);
});

test("a cell of the matrix leads to its trace and back", async ({ page, served }) => {
  await page.goto(address(served, "#view=matrix&layer=1&head=2"));
  await settled(page);
  const stage = page.getByRole("application");
  await stage.focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await expect(page).toHaveURL(/view=trace.*row=1&column=1/);
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/view=matrix.*row=1&column=1/);
  await page.getByRole("button", { name: "Trace this weight", exact: true }).click();
  await expect(page).toHaveURL(/view=trace.*row=1&column=1/);
  await page.goBack();
  await settled(page);
  const box = (await stage.boundingBox())!;
  await page.mouse.dblclick(box.x + 104 + 90, box.y + 84 + 60);
  await expect(page).toHaveURL(/view=trace&layer=1&head=2&row=\d+&column=\d+/);
});

test("tokens, heads and layers change while the rest stays", async ({ page, served }) => {
  await page.goto(address(served, kPlace));
  await page.getByRole("listbox", { name: "to" }).getByRole("option", { name: "film" }).click();
  await expect(page).toHaveURL(/row=4&column=2/);
  await page.getByRole("listbox", { name: "from" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/row=5&column=2/);
  await page.locator("h1").click();
  await page.keyboard.press("]");
  await expect(page).toHaveURL(/layer=1&head=3&row=5&column=2/);
  await page.keyboard.press("{");
  await expect(page).toHaveURL(/layer=0&head=3&row=5&column=2/);
  const { weight } = traced("tiny-bert", kText, 0, 3, 5, 2);
  await expect(panel(page).locator(".weight")).toContainText(three(weight));
  const row = (await bars(page, "weights").boundingBox())!;
  const count = (await factsOf(served)).stacks[0].keys;
  await bars(page, "weights").click({ position: { x: (7.5 * row.width) / count, y: 10 } });
  await expect(page).toHaveURL(/row=5&column=7/);
});

test("a token of the lines leads to a trace, and one that is opened without a cell finds one", async ({
  page,
  served,
}) => {
  await page.goto(address(served, "#view=heads&layer=1&head=2&pins=4"));
  await page
    .getByRole("button", { name: /Trace this weight: / })
    .first()
    .click();
  await expect(page).toHaveURL(/view=trace.*row=4&column=\d+/);
  await page.goto(address(served, "#view=overview"));
  await page.goto(address(served, "#view=trace&layer=1&head=2"));
  await expect(page).toHaveURL(/row=\d+&column=\d+/);
  await expect(page.locator(".story h2")).toContainText("of its attention");
});

test("whole words have no trace, and the page offers tokens", async ({ page, served }) => {
  await page.goto(address(served, kPlace + "&words=1"));
  await expect(page.locator(".story")).toContainText("between tokens");
  await page.getByRole("button", { name: "Show tokens" }).click();
  await expect(page.locator(".story h2")).toContainText("of its attention");
});

test("all numbers can be copied", async ({ page, served, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address(served, kPlace));
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: "Copy all numbers (JSON)" }).click();
  await expect.poll(async () => JSON.parse((await copied()) || "{}").weight).toBeDefined();
  expectSame(JSON.parse(await copied()), traced("tiny-bert", kText, 1, 2, 4, 3));
  await page.getByRole("button", { name: "Copy all products" }).click();
  await expect.poll(copied).toMatch(/^d\tq\tk\tq k\n0\t/);
});

test("what a mask forbids is said", async ({ page }) => {
  const served = await serve("--model", "tiny-gpt", "--text", "Tom and Mary went to the park");
  await page.goto(address(served, "#view=trace&layer=1&head=2&row=2&column=4"));
  await expect(page.locator(".story h2")).toContainText("may not see");
  await expect(page.locator(".masked")).toBeVisible();
  await expect(page.locator(".story")).toContainText("mask: causal");
  await end(served);
});

test("what a recording lacks is said, with how to get it", async ({ page }) => {
  const file = test.info().outputPath("film.attn");
  execFileSync(program, ["record", "--model", "tiny-bert", "--text", kText, "-o", file], { stdio: "ignore" });
  const served = await serve(...(hasWorker() ? [] : ["--recording", file]));
  await page.goto(address(served, hasWorker() ? "" : kPlace));
  if (hasWorker()) await chooseFiles(page, file);
  await page.evaluate((hash) => (location.hash = hash), kPlace);
  await expect(page.locator(".story")).toContainText("attnscope record --all");
  await expect(bars(page, "x")).toHaveCount(0);
  await expect(bars(page, "products")).toBeVisible();
  await end(served);
});

testLooks("a trace", [kPlace], async (page) => {
  await expect(bars(page, "products")).toBeVisible();
  await settled(page);
});
