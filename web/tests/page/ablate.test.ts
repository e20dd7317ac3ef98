import { execFileSync } from "node:child_process";
import type { Page } from "@playwright/test";
import { testLooks } from "./axe";
import { address, expect, kText, program, settled, test } from "./program";

const kGaps = "The film was [MASK] and the actors were wonderful.";
const hash = (text: string, rest = "", model = "tiny-bert") =>
  `#view=ablate&model=${model}&text=${encodeURIComponent(text)}${rest}`;
const panel = (page: Page) => page.locator("aside[data-tour=panel]");

const near = (shown: string, value: number) =>
  expect(Math.abs(Number(shown.replace("e−", "e-")) - value)).toBeLessThan(0.006 * Math.abs(value) + 1e-9);

const json = <T>(...options: string[]): T =>
  JSON.parse(execFileSync(program, [...options, "--json"], { encoding: "utf8" })) as T;

interface Moved {
  positions: {
    kl: number;
    before: { word: string; probability: number }[];
    after: { word: string; probability: number }[];
  }[];
}
interface Ranked {
  heads: { layer: number; head: number; kl: number }[];
}

test("heads that are switched off move the predictions as attnscope ablate says", async ({ page, served }) => {
  await page.goto(address(served, hash(kGaps)));
  await expect(page.locator(".predictions")).toContainText("For the gap at 4");
  await page.getByRole("button", { name: "layer 0 · head 1 · on" }).click();
  await expect(page).toHaveURL(/off=0\.1/);
  await page.getByRole("button", { name: "layer 2 · head 3 · on" }).click();
  await expect(page).toHaveURL(/off=0\.1,2\.3/);
  await expect(page.getByRole("button", { name: "layer 2 · head 3 · off" })).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator("footer")).toContainText("2 heads off");
  await expect(page.locator(".predictions")).toContainText("KL");
  await settled(page);
  const said = json<Moved>("ablate", "--model", "tiny-bert", "--text", kGaps, "--head", "0.1", "--head", "2.3");
  const [place] = said.positions;
  near(/KL ([\d.e−]+)/.exec(await page.locator(".predictions h3").first().innerText())![1], place.kl);
  const rows = await page
    .locator(".predictions tbody tr")
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll("th, td.number")].map((c) => c.textContent!.trim())),
    );
  expect(rows.map(([word]) => word)).toEqual(place.after.map(({ word }) => word));
  rows.forEach(([word, before, after], i) => {
    near(after, place.after[i].probability);
    const then = place.before.find((choice) => choice.word === word);
    if (then) near(before, then.probability);
  });
});

test("the grid is used by keyboard, and layers go off as a whole", async ({ page, served }) => {
  await page.goto(address(served, hash(kGaps, "&layer=1&head=0")));
  await settled(page);
  await page.getByRole("button", { name: "layer 1 · head 0 · on" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("button", { name: "layer 2 · head 1 · on" })).toBeFocused();
  await page.keyboard.press("Space");
  await expect(page).toHaveURL(/off=2\.1/);
  await page.keyboard.press("Enter");
  await expect(page).not.toHaveURL(/off=/);
  await page.getByRole("button", { name: "Layer 2 off" }).click();
  await expect(page).toHaveURL(/off=2\.0,2\.1,2\.2,2\.3/);
  await page.goBack();
  await expect(page).not.toHaveURL(/off=/);
  await page.goForward();
  await page.getByRole("button", { name: "All on again" }).first().click();
  await expect(page).not.toHaveURL(/off=/);
});

test("all heads are ranked as attnscope ablate --all ranks them", async ({ page, served }) => {
  await page.goto(address(served, hash(kGaps)));
  await settled(page);
  await page.getByRole("button", { name: "Rank all heads" }).click();
  // Until then, the panel has the few rows of the predictions.
  await expect.poll(() => panel(page).locator("tbody tr").count()).toBeGreaterThan(10);
  const said = json<Ranked>("ablate", "--model", "tiny-bert", "--text", kGaps, "--all");
  const rows = await panel(page)
    .locator("tbody tr")
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll("th, td.number")].map((c) => c.textContent!.trim())),
    );
  rows.forEach(([name, kl], i) => {
    expect(name).toBe(`${said.heads[i].layer}.${said.heads[i].head}`);
    near(kl, said.heads[i].kl);
  });
  const { layer, head } = said.heads[0];
  await panel(page).locator("tbody button").first().click();
  await expect(page).toHaveURL(new RegExp(`off=${layer}\\.${head}`));
  await expect(panel(page)).toContainText("ranked with all heads on");
});

test("a text without a gap has all its places, and labels move too", async ({ page, served }) => {
  await page.goto(address(served, hash(kText, "&off=1.1")));
  await expect(page.locator(".places tbody tr")).toHaveCount(16);
  await page.goto(address(served, hash("A wonderful film.", "&off=0.0,0.1,0.2,0.3", "imdb-sentiment")));
  await expect(page.locator(".predictions")).toContainText("positive");
  await expect(page.locator(".predictions")).toContainText("change");
});

test("other views say that heads are off, and switch them on again", async ({ page, served }) => {
  await page.goto(address(served, hash(kGaps, "&off=0.1").replace("ablate", "overview")));
  await settled(page);
  await expect(page.locator("footer")).toContainText("1 head off");
  await page.locator("main").getByRole("button", { name: "All on again" }).click();
  await expect(page).not.toHaveURL(/off=/);
  await expect(page.locator("footer")).not.toContainText("head off");
});

test("what is generated is read again without some heads, as the same text", async ({ page, served }) => {
  await page.goto(address(served, hash("Once upon a time", "&generate=5,0,0,1,0", "tiny-gpt")));
  await settled(page);
  await page.getByRole("button", { name: "layer 0 · head 0 · on" }).click();
  await expect(page).toHaveURL(/off=0\.0/);
  await expect(page).not.toHaveURL(/generate/);
  await expect(page.locator(".predictions")).toContainText("KL");
});

testLooks("ablation", [hash(kGaps, "&off=0.1,2.3"), hash(kText, "&off=1.1")]);
