import type { Page } from "@playwright/test";
import { testLooks } from "./axe";
import { address, expect, factsOf, freshPage, hasWorker, kText, serve, end, settled, test, told } from "./program";

const panel = (page: Page) => page.locator("aside[data-tour=panel]");
const hash = (more: Record<string, string>) =>
  "#" + new URLSearchParams({ view: "masks", ...more }).toString().replaceAll("+", "%20");

interface Told {
  pairs: number;
  rows: number[][];
}

// The middle of a cell, where the whole mask is in sight.
async function cellAt(page: Page, row: number, column: number, count: number): Promise<[number, number]> {
  const box = (await page.getByRole("application").boundingBox())!;
  const [left, top, right, bottom] = box.width < 560 ? [64, 60, 12, 8] : [104, 84, 12, 8];
  const scale = Math.min(96, (box.width - left - right) / count, (box.height - top - bottom) / count);
  return [box.x + left + (column + 0.5) * scale, box.y + top + (row + 0.5) * scale];
}

const field = (page: Page) => page.getByRole("textbox", { name: "Mask, as text" });

async function drawn(page: Page, draft: string): Promise<number> {
  await expect(field(page)).toHaveValue(draft);
  await settled(page);
  return Number(await page.getByRole("spinbutton", { name: "Tokens" }).inputValue());
}

test("a mask is counted as attnscope mask counts it", async ({ page, served }) => {
  await page.goto(address(served, hash({ draft: "causal & window(2)" })));
  const size = await drawn(page, "causal & window(2)");
  expect(size).toBe((await factsOf(served)).stacks[0].queries);
  const { pairs } = told<Told>("mask", "causal & window(2)", "--size", String(size));
  await expect(page.getByText(`${pairs} of ${size * size} pairs may be seen`)).toBeVisible();
});

test("a mask is between tokens, also where the page shows words", async ({ page, served }) => {
  await page.goto(address(served, hash({ draft: "causal", words: "1" })));
  await expect(page.getByText("pairs may be seen")).toBeVisible();
  const size = await drawn(page, "causal");
  expect(size).toBe((await factsOf(served)).stacks[0].queries);
});

test("what is wrong is pointed at, and what was there stays", async ({ page, served }) => {
  await page.goto(address(served, hash({ draft: "causal" })));
  const size = await drawn(page, "causal");
  const seen = page.getByText(`${(size * (size + 1)) / 2} of ${size * size} pairs may be seen`);
  await expect(seen).toBeVisible();
  const refusals: number[] = [];
  page.on("response", (response) => response.status() >= 400 && refusals.push(response.status()));
  page.removeAllListeners("console"); // the browser itself tells of answers with 400
  await field(page).fill("causal & windw(2)");
  const alert = page.locator(".problem[role=alert]");
  await expect(alert).toContainText("unknown name 'windw'");
  expect(await alert.locator("pre").innerText()).toBe(" ".repeat(9) + "^");
  await expect(seen).toBeVisible();
  await field(page).fill("causal & window(2)");
  await expect(alert).toHaveCount(0);
  if (!hasWorker()) expect(refusals).toEqual([400]);
});

test("names are put where the cursor is", async ({ page, served }) => {
  await page.goto(address(served, hash({ draft: "causal" })));
  await drawn(page, "causal");
  await field(page).press("End");
  await page.getByRole("button", { name: "window(2)", exact: true }).click();
  await expect(field(page)).toHaveValue("causal & window(2)");
  await expect(page).toHaveURL(/draft=causal%20%26%20window\(2\)/);
  await field(page).evaluate((input: HTMLInputElement) => input.setSelectionRange(9, 18));
  await page.getByRole("button", { name: "global(1)", exact: true }).click();
  await expect(field(page)).toHaveValue("causal & global(1)");
});

test("a mask is painted by pointer and by keyboard, and becomes a table", async ({ page, served }) => {
  await page.goto(address(served, hash({ draft: "causal" })));
  const size = await drawn(page, "causal");
  await page.getByRole("button", { name: "Paint" }).click();
  const causal = told<Told>("mask", "causal", "--size", String(size)).rows;
  const table = () => `table(${causal.map((row) => row.join("")).join(",")})`;

  await page.mouse.move(...(await cellAt(page, 0, 3, size)));
  await page.mouse.down();
  await page.mouse.move(...(await cellAt(page, 0, 6, size)), { steps: 2 });
  await page.mouse.up();
  for (const j of [3, 4, 5, 6]) causal[0][j] = 1;
  await expect(field(page)).toHaveValue(table());

  await page.keyboard.down("Shift");
  await page.mouse.move(...(await cellAt(page, 5, 0, size)));
  await page.mouse.down();
  await page.mouse.move(...(await cellAt(page, 7, 2, size)), { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  for (const i of [5, 6, 7]) for (const j of [0, 1, 2]) causal[i][j] = 0;
  await expect(field(page)).toHaveValue(table());

  await page.getByRole("application").focus();
  await page.mouse.move(0, 0);
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", " "]) await page.keyboard.press(key);
  causal[1][1] = 0;
  await expect(field(page)).toHaveValue(table());
  await page.keyboard.press("Control+z");
  causal[1][1] = 1;
  await expect(field(page)).toHaveValue(table());
});

test("a row that may see nothing is pointed out", async ({ page, served }) => {
  const draft = "window(1) & ~padding(2)";
  await page.goto(address(served, hash({ draft })));
  await drawn(page, draft);
  await expect(page.getByText("“[CLS]” may see nothing: its output is 0.")).toBeVisible();
});

test("the engine's tiles of a long text are drawn and counted", async ({ page, served }) => {
  const size = 512;
  const draft = "causal & window(64)";
  await page.goto(address(served, hash({ draft, size: String(size) })));
  await drawn(page, draft);
  const answer = await page.request.post(address(served, "api/mask"), {
    data: { text: draft, queries: size, keys: size },
  });
  const { tiles } = (await answer.json()) as {
    tiles: { rows: number; keys: number; down: number; across: number; covers: string; skipped: number };
  };
  const { rows } = told<Told>("mask", draft, "--size", String(size));
  let [skipped, computed] = [0, 0];
  for (let r = 0; r < tiles.down; ++r) {
    for (let c = 0; c < tiles.across; ++c) {
      const tile = rows
        .slice(r * tiles.rows, (r + 1) * tiles.rows)
        .map((row) => row.slice(c * tiles.keys, (c + 1) * tiles.keys));
      const seen = tile.flat().some((pair) => pair === 1);
      if (seen) computed += tile.flat().length;
      else ++skipped;
      expect(tiles.covers[r * tiles.across + c] === "0").toBe(!seen);
    }
  }
  const share = `${Math.round((100 * computed) / size ** 2)}%`;
  await expect(
    page.getByText(
      `The engine skips ${skipped} of ${tiles.down * tiles.across} tiles: ${share} of the pairs are computed.`,
    ),
  ).toBeVisible();
});

test("the model runs with a mask: every view shows it, predictions stand beside those without", async ({
  page,
  served,
}) => {
  await page.goto(address(served, hash({ draft: "causal & window(2)" })));
  const size = await drawn(page, "causal & window(2)");
  await page.getByRole("button", { name: "Run the model with it" }).click();
  await expect(page).toHaveURL(/mask=causal/);
  await expect(panel(page)).toContainText("All views now show the text under this mask.");
  await expect(panel(page).locator("table").first()).toBeVisible();
  const made = await page.request.post(address(served, "api/recordings"), {
    data: { model: "tiny-bert", text: kText, mask: "causal & window(2)" },
  });
  const { id } = (await made.json()) as { id: string };
  const row = await fetch(address(served, `api/recordings/${id}/row?kind=self&layer=1&head=0&row=8`));
  const weights = [...new Float32Array(await row.arrayBuffer())];
  expect(weights).toHaveLength(size);
  expect(weights.flatMap((weight, j) => (weight > 0 ? [j] : []))).toEqual([6, 7, 8]);
  await page.locator("section.view").getByRole("button", { name: "Without the mask" }).click();
  await expect(page).not.toHaveURL(/[&#]mask=/);
});

test("a causal model says that its own rule holds too", async ({ page: _, browser }) => {
  const served = await serve("--model", "tiny-gpt", "--text", "Once upon a time");
  const page = await freshPage(browser);
  await page.goto(address(served, hash({ draft: "window(1)" })));
  const size = await drawn(page, "window(1)");
  await expect(page.getByText("This model is already causal")).toBeVisible();
  const { pairs } = told<Told>("mask", "causal & window(1)", "--size", String(size));
  await expect(page.getByText(`${pairs} of ${size * size} pairs may be seen`)).toBeVisible();
  await page.close();
  await end(served);
});

test("the command draws the same", async ({ page, served, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address(served, hash({ draft: "causal & window(2)", size: "32" })));
  await drawn(page, "causal & window(2)");
  await page
    .locator("footer")
    .getByRole("button", { name: /command line/ })
    .click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    "attnscope mask 'causal & window(2)' --size 32",
  );
});

test.describe("with a finger", () => {
  test.use({ viewport: { width: 360, height: 720 }, hasTouch: true, isMobile: true });

  test("a tap sets or clears a cell", async ({ page, served }) => {
    await page.goto(address(served, hash({ draft: "causal" })));
    const size = await drawn(page, "causal");
    await page.getByRole("button", { name: "Paint" }).click();
    await page.getByRole("application").scrollIntoViewIfNeeded();
    await page.touchscreen.tap(...(await cellAt(page, 0, 2, size)));
    await expect(field(page)).toHaveValue(new RegExp(`^table\\(101${"0".repeat(size - 3)},11`));
  });
});

testLooks("masks", [hash({ draft: "window(2) | global(1)" })], (page) => drawn(page, "window(2) | global(1)"));
