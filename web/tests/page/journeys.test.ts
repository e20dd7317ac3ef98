import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import { colourOfByte } from "./viridis";
import { address, expect, factsOf, hasWorker, kText, rowOf, serve, end, settled, target, test } from "./program";

const stage = (page: Page) => page.locator(".stage").first();
const panel = (page: Page) => page.locator("aside[data-tour=panel]");

// The middle of a cell of the whole head, on the page and on its canvas.
async function cellAt(page: Page, row: number, column: number, count: number): Promise<{ x: number; y: number }> {
  const box = (await stage(page).boundingBox())!;
  const [left, top, right, bottom] = box.width < 560 ? [64, 60, 28, 36] : [104, 84, 56, 56];
  const scale = Math.min(96, (box.width - left - right) / count, (box.height - top - bottom) / count);
  return { x: box.x + left + (column + 0.5) * scale, y: box.y + top + (row + 0.5) * scale };
}

async function pixel(page: Page, x: number, y: number): Promise<number[]> {
  return page.evaluate(
    ([px, py]) => {
      const canvas = document.querySelector<HTMLCanvasElement>(".stage canvas")!;
      const box = canvas.getBoundingClientRect();
      const data = canvas
        .getContext("2d")!
        .getImageData((px - box.x) * devicePixelRatio, (py - box.y) * devicePixelRatio, 1, 1);
      return [...data.data.slice(0, 3)];
    },
    [x, y],
  );
}

const pictures = (page: Page) =>
  page.locator(".stage canvas").evaluateAll((all) => all.map((canvas) => (canvas as HTMLCanvasElement).toDataURL()));

test("the overview says where to look, and a click on a head opens its matrix", async ({ page, served }) => {
  const facts = await factsOf(served);
  await page.goto(address(served));
  const { layer, head, reason } = facts.look_at;
  await expect(page.locator("[data-tour=look]")).toContainText(`layer ${layer} · head ${head}`);
  await expect(page.locator("[data-tour=look]")).toContainText(reason);
  await settled(page);
  const box = (await stage(page).boundingBox())!;
  await page.mouse.move(box.x + 60, box.y + 60);
  await expect(panel(page)).toContainText("layer 0 · head 0");
  await page.mouse.click(box.x + 60, box.y + 60);
  await expect(page).toHaveURL(/#view=matrix&layer=0&head=0/);
  await page.goBack();
  await expect(page).toHaveURL(/#view=overview|(\/|\.html)$/);
  await page.goForward();
  await expect(page).toHaveURL(/#view=matrix/);
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/#view=overview/);
});

test("everything can be reached by keyboard", async ({ page, served }) => {
  await page.goto(address(served, "#view=overview&layer=0&head=0"));
  await settled(page);
  await page.getByRole("listbox").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("option", { name: /layer 1 · head 1/ })).toBeAttached();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/view=matrix&layer=1&head=1/);
  await page.keyboard.press("2");
  await expect(page).toHaveURL(/view=heads/);
  await page.getByRole("listbox").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/pins=1/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/pins/);
  await page.keyboard.press("3");
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/row=0&column=1/);
  await page.keyboard.press("]");
  await expect(page).toHaveURL(/head=2/);
});

test("a cell has the colour of its weight, and its exact number is shown and copied", async ({
  page,
  served,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const count = (await factsOf(served)).stacks[0].queries;
  await page.goto(address(served, "#view=matrix&layer=1&head=2"));
  await settled(page);
  for (const [row, column] of [
    [3, 2],
    [5, 5],
    [count - 1, 0],
  ]) {
    const weight = (await rowOf(served, 1, 2, row))[column];
    const at = await cellAt(page, row, column, count);
    expect(await pixel(page, at.x, at.y)).toEqual(colourOfByte(Math.round(255 * Math.sqrt(weight))));
    await page.mouse.move(at.x, at.y);
    await expect(panel(page).locator(".cell small").nth(1)).toHaveText(String(column));
    await page.mouse.click(at.x, at.y);
    await page.keyboard.press("c");
    const copied = async () => Math.fround(Number(await page.evaluate(() => navigator.clipboard.readText())));
    if (hasWorker()) await expect.poll(async () => Math.abs((await copied()) - weight)).toBeLessThan(1e-5);
    else await expect.poll(copied).toBe(weight);
    await page.keyboard.press("Escape");
  }
});

test("zooming in ends at single cells with numbers, and the address brings them back", async ({ page, served }) => {
  await page.goto(address(served, "#view=matrix&layer=1&head=2"));
  await settled(page);
  await page.getByRole("application").focus();
  for (let i = 0; i < 6; ++i) await page.keyboard.press("+");
  await expect(page).toHaveURL(/window=[\d.]+,[\d.]+,96/);
  await settled(page);
  const near = await pictures(page);
  const url = page.url();
  await page.goto("about:blank");
  await page.goto(url);
  await settled(page);
  expect(await pictures(page)).toEqual(near);
  await page.getByRole("button", { name: "Whole head" }).click();
  await expect(page).not.toHaveURL(/window/);
});

test("the map can be moved away from the cell that is looked at, and arrows bring it back", async ({
  page,
  served,
}) => {
  await page.goto(address(served, "#view=matrix&layer=1&head=2&row=1&column=1&window=0,0,60"));
  await settled(page);
  const box = (await stage(page).boundingBox())!;
  await page.mouse.move(box.x + 600, box.y + 400);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 200, { steps: 5 });
  await page.mouse.up();
  await expect(page).toHaveURL(/row=1&column=1.*window=[1-9]/);
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/row=1&column=2.*window=[01](\.\d+)?,0/);
});

test("a long text scrolls away from its pinned token", async ({ page }) => {
  const text = Array.from({ length: 120 }, (_, i) => (i % 7 ? "film" : "great")).join(" ");
  const served = await serve("--model", "tiny-bert", "--text", text);
  await page.goto(address(served, "#view=heads&layer=1&head=2&pins=3"));
  await settled(page);
  const scroller = page.getByRole("listbox");
  await scroller.evaluate((element) => (element.scrollTop = 900));
  await settled(page);
  expect(await scroller.evaluate((element) => element.scrollTop)).toBe(900);
  await end(served);
});

test("sinks are removed by one key, and rows sum to 1 again", async ({ page, served, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address(served, "#view=matrix&layer=1&head=2&row=4&column=5"));
  await settled(page);
  await page.keyboard.press("s");
  await expect(page).toHaveURL(/without_sinks=1/);
  await expect(page.locator("footer")).toContainText("without sinks");
  await settled(page);
  await panel(page).getByRole("button", { name: "Copy these numbers" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const weights = copied
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => Number(line.split("\t")[2]));
  expect(weights[0]).toBe(0);
  expect(weights.at(-1)).toBe(0);
  expect(weights.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 5);
  const exact = await rowOf(served, 1, 2, 4);
  const rest = 1 - exact[0] - exact.at(-1)!;
  expect(weights[5]).toBeCloseTo(exact[5] / rest, 5);
});

test("a token's lines follow the pointer, pinned tokens are added up, and what is hidden is said", async ({
  page,
  served,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address(served, "#view=heads&layer=1&head=2&threshold=0.1"));
  await settled(page);
  await expect(page.locator("footer")).toContainText(/\d+(\.\d)?% of the attention in view not drawn/);
  const box = (await stage(page).boundingBox())!;
  const pitch = Math.min(32, Math.max(22, Math.floor((box.height - 16) / (await factsOf(served)).stacks[0].queries)));
  const token = (i: number) => [box.x + 100, box.y + 8 + (i + 0.5) * pitch] as const;
  await page.mouse.move(...token(3));
  await expect(panel(page)).toContainText("Where “was” looks");
  const exact = await rowOf(served, 1, 2, 3);
  const hidden = exact.filter((w) => w < 0.1).reduce((a, b) => a + b, 0);
  await expect(page.locator("footer")).toContainText(
    `${(100 * hidden).toFixed(hidden < 0.1 ? 1 : 0)}% of the attention not drawn`,
  );
  await page.mouse.click(...token(3));
  await page.mouse.click(...token(5));
  await expect(page).toHaveURL(/pins=3,5/);
  await page.mouse.move(box.x + box.width / 2, box.y + 5);
  await expect(panel(page)).toContainText("2 tokens pinned and added up");
  await panel(page).getByRole("button", { name: "Copy these numbers" }).click();
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n").slice(1);
  const other = await rowOf(served, 1, 2, 5);
  lines.forEach((line, j) => expect(Number(line.split("\t")[2])).toBeCloseTo(exact[j] + other[j], 5));
  await panel(page).getByRole("button", { name: "Clear" }).click();
  await expect(page).not.toHaveURL(/pins/);
});

test("several heads are shown at once, each with a hue, a dash and its number", async ({ page, served }) => {
  await page.goto(address(served, "#view=heads&layer=1&head=2"));
  await settled(page);
  await page.getByRole("button", { name: "Head 0", exact: true }).click();
  await expect(page).toHaveURL(/others=1.0/);
  await expect(page.getByRole("button", { name: "Head 0", exact: true })).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "all", exact: true }).click();
  const styles = await page
    .locator(".heads path")
    .evaluateAll((paths) => paths.map((p) => p.getAttribute("stroke")! + p.getAttribute("stroke-dasharray")));
  const heads = (await factsOf(served)).stacks[0].heads;
  expect(new Set(styles).size).toBe(heads);
  await page.getByRole("combobox", { name: "Show" }).selectOption("top");
  await expect(page).toHaveURL(/rule=top/);
  await page.getByRole("button", { name: "one", exact: true }).click();
  await expect(page).not.toHaveURL(/others/);
});

test("heads are ordered and filtered by what they do", async ({ page, served }) => {
  await page.goto(address(served));
  await settled(page);
  await page.getByRole("combobox", { name: "Order" }).selectOption("interest");
  await expect(page).toHaveURL(/sort=interest/);
  const { layer, head } = (await factsOf(served)).look_at;
  await page.getByRole("listbox").focus();
  await page.keyboard.press("Home");
  await expect(page.getByRole("option", { name: new RegExp(`layer ${layer} · head ${head}`) })).toBeAttached();
  const pattern = page.getByRole("combobox", { name: "Pattern" });
  const names = await pattern.locator("option").allTextContents();
  await pattern.selectOption({ label: names[1] });
  await expect(page.locator(".bar", { has: pattern })).toContainText(/\d+ of \d+ heads/);
});

test("pieces are merged into words by a switch", async ({ page }) => {
  const served = await serve("--model", "tiny-bert", "--text", "unbelievable cinematography, extraordinarily filmed");
  const [pieces, words] = [await factsOf(served), await factsOf(served, "?words=1")];
  expect(words.stacks[0].queries).toBeLessThan(pieces.stacks[0].queries);
  await page.goto(address(served, "#view=matrix&layer=0&head=1"));
  await settled(page);
  await page.getByRole("button", { name: "Whole words" }).click();
  await expect(page).toHaveURL(/words=1/);
  // The pieces stay until the words have come.
  await expect(async () => {
    await page.mouse.move(0, 0);
    const at = await cellAt(page, 1, 1, words.stacks[0].queries);
    await page.mouse.move(at.x, at.y);
    const title = panel(page).locator("h2").first();
    await expect(title).toContainText(words.stacks[0].query_tokens[1].text.trim(), { timeout: 500 });
  }).toPass();
  await end(served);
});

test("cross-attention has the text that is read on the right", async ({ page }) => {
  const served = await serve("--model", "tiny-translate", "--text", "the cat sees the dog");
  const facts = await factsOf(served);
  expect(facts.stacks.map((stack) => stack.kind)).toEqual(["self", "decoder", "cross"]);
  await page.goto(address(served, "#view=heads&kind=cross&layer=0&head=0"));
  await settled(page);
  await expect(page.getByRole("combobox", { name: "Attention" })).toHaveValue("cross");
  const box = (await stage(page).boundingBox())!;
  await page.mouse.move(box.x + 100, box.y + 20);
  await expect(panel(page).locator("table")).toContainText("cat");
  await page.keyboard.press("3");
  await expect(page).toHaveURL(/view=matrix&kind=cross/);
  await page.mouse.move(box.x + 200, box.y + 150);
  await expect(panel(page).locator(".cell")).toBeVisible();
  await end(served);
});

test("heads that are worth a look stand below where there is no room beside", async ({ page }) => {
  const served = await serve("--model", "tiny-translate", "--text", "the cat sees the dog");
  await page.goto(address(served));
  await settled(page);
  const { look_at: look } = await factsOf(served);
  const list = page.locator(".worth");
  await expect(list.getByRole("heading", { name: "Worth a look" })).toBeVisible();
  await list.getByRole("button").first().click();
  await expect(page).toHaveURL(new RegExp(`view=matrix.*layer=${look.layer}&head=${look.head}`));
  await settled(page);
  await end(served);
});

test("two sentences can be looked at one by one", async ({ page }) => {
  const served = await serve("--model", "tiny-bert", "--text", "a good film", "--pair", "a bad film");
  await page.goto(address(served, "#view=heads&layer=0&head=0"));
  await settled(page);
  await page.getByRole("combobox", { name: "Sentences" }).selectOption("AB");
  await expect(page).toHaveURL(/sentences=AB/);
  await expect(page.locator("footer")).toContainText("not drawn");
  await expect(page.getByRole("textbox", { name: "Text", exact: true })).toHaveValue("a good film");
  await expect(page.getByRole("textbox", { name: "Second text" })).toHaveValue("a bad film");
  await page.getByRole("combobox", { name: "Sentences" }).selectOption("");
  await page.getByRole("slider").fill("0");
  await expect(page.locator("footer")).not.toContainText("not drawn");
  await end(served);
});

test("Chinese, emoji and right-to-left text stand in their own direction", async ({ page }) => {
  const served = await serve("--model", "tiny-gpt", "--text", "今天 🌳 שלום");
  await page.goto(address(served, "#view=matrix&layer=0&head=0&row=3&column=0"));
  await settled(page);
  const written = page.getByRole("textbox", { name: "Text", exact: true });
  await expect(written).toHaveValue("今天 🌳 שלום");
  await expect(written).toHaveAttribute("dir", "auto");
  await expect(panel(page).locator("bdi").first()).toHaveAttribute("dir", "auto");
  await end(served);
});

test("the language and the light are switched and remembered", async ({ page, served }) => {
  await page.goto(address(served));
  await page.getByRole("button", { name: "中文" }).click();
  await expect(page.getByRole("navigation")).toContainText("总览");
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-Hans");
  await page.getByRole("button", { name: "浅色或深色" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  // A file that is reloaded may get a renderer whose copy of the store of files is an older one, in about one of ten
  // runs: there, what is stored counts.
  const stored = () =>
    page.evaluate(() => ["language", "theme"].map((key) => localStorage.getItem(`attnscope.${key}`)));
  expect(await stored()).toEqual(["zh", "dark"]);
  if (target() === "file") return;
  await page.reload();
  await expect(page.getByRole("navigation")).toContainText("矩阵");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test.describe("a first visit", () => {
  test.use({ visited: false });

  test("reads one sentence, may take a tour of five steps, and is not asked again", async ({ page, served }) => {
    await page.goto(address(served));
    await expect(page.getByText("attnscope shows where a model looks")).toBeVisible();
    await page.getByRole("button", { name: "Show me around" }).click();
    for (let step = 1; step <= 4; ++step) {
      await expect(page.getByText(`${step} of 5`)).toBeVisible();
      await page.getByRole("button", { name: "Next", exact: true }).click();
    }
    await page.getByRole("button", { name: "Done" }).click();
    await page.reload();
    await settled(page);
    await expect(page.getByText("attnscope shows where a model looks")).toHaveCount(0);
  });

  test("is greeted at the overview alone, and nothing is covered", async ({ page, served }) => {
    for (const view of ["heads", "matrix"]) {
      await page.goto(address(served, `#view=${view}&layer=1&head=2`));
      await settled(page);
      await expect(page.getByText("attnscope shows where a model looks")).toHaveCount(0);
      await page.goto("about:blank");
    }
    await page.goto(address(served));
    await settled(page);
    const box = (await page.getByText("attnscope shows where a model looks").boundingBox())!;
    for (const part of [stage(page), page.locator("footer"), panel(page)]) {
      const other = (await part.boundingBox())!;
      const apart = other.y + other.height <= box.y || box.y + box.height <= other.y || box.x + box.width <= other.x;
      expect(apart).toBe(true);
    }
    await page.getByRole("button", { name: "Close" }).click();
    await page.reload();
    await settled(page);
    await expect(page.getByText("attnscope shows where a model looks")).toHaveCount(0);
  });

  test("is not greeted inside another page", async ({ page, served }) => {
    test.skip(target() === "file", "no page of a host may show a file");
    const host = createServer((_, answer) =>
      answer.end(`<iframe src="${address(served)}" width="900" height="600"></iframe>`),
    );
    await new Promise<void>((ready) => host.listen(0, "127.0.0.1", ready));
    await page.goto(`http://127.0.0.1:${(host.address() as AddressInfo).port}/`);
    const frame = page.frameLocator("iframe");
    await expect(frame.locator("[data-tour=look]")).toBeVisible();
    await expect(frame.getByText("attnscope shows where a model looks")).toHaveCount(0);
    await expect(frame.getByRole("heading", { name: "Worth a look" })).toBeVisible();
    host.close();
  });
});

test("the text is in the frame, and the command line that draws the picture can be copied", async ({
  page,
  served,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address(served, "#view=matrix&layer=1&head=2"));
  await expect(page.getByRole("textbox", { name: "Text", exact: true })).toHaveValue(kText);
  await page.getByRole("button", { name: "Copy the command line that draws this" }).click();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toBe(`attnscope heatmap --model tiny-bert --text '${kText}' --layer 1 --head 2`);
});
