import type { Page } from "@playwright/test";
import { testLooks } from "./axe";
import {
  address,
  end,
  expect,
  freshPage,
  intercept,
  kText,
  serve,
  settled,
  stopIntercepting,
  test,
  told,
} from "./program";

const kOther = kText.replace("great", "terrible");
const panel = (page: Page) => page.locator("aside[data-tour=panel]");

interface Told {
  heads: { layer: number; head: number; change: number; entropy_a: number; entropy_b: number }[];
  aligned: { queries: [number, number][] }[];
}

const hash = (more: Record<string, string>) =>
  "#" + new URLSearchParams({ view: "compare", ...more }).toString().replaceAll("+", "%20");
const kCompared = hash({ modelB: "tiny-bert", textB: kOther, layer: "2", head: "1" });

async function compared(page: Page): Promise<void> {
  await expect(page.getByRole("application")).toBeVisible();
  await settled(page);
}

test("the empty view offers a changed word, and goes to the head that changed most", async ({ page, served }) => {
  await page.goto(address(served, "#view=overview"));
  await settled(page);
  await page.keyboard.press("7");
  await page.getByRole("button", { name: "One word changed" }).click();
  await compared(page);
  await expect(page.getByRole("textbox", { name: "Text of B" })).toHaveValue(kOther);
  const { heads } = told<Told>("compare", kText, kOther, "--model", "tiny-bert");
  await expect(page).toHaveURL(new RegExp(`layer=${heads[0].layer}&head=${heads[0].head}(&|$)`));
});

test("heads stand in the order and with the numbers of attnscope compare", async ({ page, served }) => {
  await page.goto(address(served, kCompared));
  await compared(page);
  const { heads, aligned } = told<Told>("compare", kText, kOther, "--model", "tiny-bert");
  const rows = page.locator("section.view tbody tr");
  await expect(rows).toHaveCount(heads.length);
  for (const [n, { layer, head, change, entropy_a, entropy_b }] of heads.entries()) {
    const row = rows.nth(n);
    await expect(row).toContainText(`${layer}.${head}`);
    const said = Number((await row.locator("td").nth(1).innerText()).replace("e−", "e-"));
    expect(Math.abs(said - change)).toBeLessThanOrEqual(0.051 * change + 1e-12);
    await expect(row).toContainText(`${entropy_a.toFixed(2)} → ${entropy_b.toFixed(2)}`);
  }
  const tokens = aligned[0].queries.length + 1;
  await expect(page.getByText(`${tokens - 1} of ${tokens} tokens of A are in B`)).toBeVisible();
  await expect(page.locator(".only.a bdi")).toHaveText("great");
  await expect(page.locator(".only.b bdi")).toHaveText("terrible");
});

test("a cell has both weights and their difference, as both rows have them", async ({ page, served }) => {
  await page.goto(address(served, kCompared + "&row=3&column=2"));
  await compared(page);
  const made = await page.request.post(address(served, "api/recordings"), {
    data: { model: "tiny-bert", text: kOther },
  });
  const { id } = (await made.json()) as { id: string };
  const weight = async (of: string) => {
    const answer = await fetch(address(served, `api/recordings/${of}/row?kind=self&layer=2&head=1&row=3`));
    return new Float32Array(await answer.arrayBuffer())[2];
  };
  const [a, b] = [await weight("1"), await weight(id)];
  const numbers = (await panel(page).locator(".weights dd").allInnerTexts()).map((text) =>
    Number(text.trim().replace("e−", "e-").replace("−", "-")),
  );
  expect(numbers).toHaveLength(3);
  for (const [n, exact] of [a, b, a - b].entries())
    expect(Math.abs(numbers[n] - exact)).toBeLessThanOrEqual(0.006 * Math.abs(exact) + 1e-9);
  const differences = (await panel(page).locator("tbody tr td:nth-child(4)").allInnerTexts()).map((text) =>
    Math.abs(Number(text.replace("e−", "e-").replace("−", "-"))),
  );
  expect(differences.length).toBeGreaterThan(5);
  expect(differences).toEqual([...differences].sort((one, other) => other - one));
});

test("a token that B lacks says so", async ({ page, served }) => {
  await page.goto(address(served, kCompared + "&row=4&column=4"));
  await compared(page);
  await expect(panel(page)).toContainText("“great” is not in B");
});

test("B is read while it is written, and what cannot be read is said in one line", async ({ page, served }) => {
  await page.goto(address(served, kCompared));
  await compared(page);
  const field = page.getByRole("textbox", { name: "Text of B" });
  await field.fill(kText.replace("actors", "cameras"));
  await expect(page.locator(".only.b bdi").first()).toHaveText(/camera/);
  await field.fill(kText);
  await expect(page.getByText("A and B are the same so far")).toBeVisible();
  await page.getByRole("combobox", { name: "Model of B" }).selectOption("imdb-sentiment");
  await expect(page.getByRole("alert")).toContainText("A has 4 layers of 4 heads");
});

test("long work says what it is, can be stopped, and goes on when it is wanted again", async ({ page, served }) => {
  await page.goto(address(served, "#view=overview"));
  await settled(page);
  await intercept(page, { url: "api/compare\\?", do: { what: "hold" } });
  await page.evaluate((hash) => (location.hash = hash), kCompared);
  await expect(page.getByText(/^Comparing(…| ·)/)).toBeVisible();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(page.getByText("Stopped before it was done.")).toBeVisible();
  await stopIntercepting(page);
  await page.getByRole("button", { name: "Compare again" }).click();
  await compared(page);
  await expect(page.getByText("Stopped before it was done.")).toHaveCount(0);
});

test("whole words are compared too", async ({ page, served }) => {
  await page.goto(address(served, kCompared + "&words=1"));
  await compared(page);
  const answer = await page.request.get(address(served, "api/recordings/1?words=1"));
  const { stacks } = (await answer.json()) as { stacks: { queries: number }[] };
  const { queries } = stacks[0];
  await expect(page.getByText(`${queries - 1} of ${queries} tokens of A are in B`)).toBeVisible();
});

test("A and B change places, and B can be opened", async ({ page, served }) => {
  await page.goto(address(served, kCompared));
  await compared(page);
  await page.getByRole("button", { name: "Swap", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "Text of B" })).toHaveValue(kText);
  await expect(page.locator(".only.a bdi")).toHaveText("terrible");
  await page.goBack();
  await expect(page.locator(".only.a bdi")).toHaveText("great");
  await page.getByRole("button", { name: "Open B" }).click();
  await expect(page).toHaveURL(/view=overview/);
  await expect(page).toHaveURL(/text=[^&]*terrible/);
});

test("heads that are off can be compared with all heads on", async ({ page, served }) => {
  const start = new URLSearchParams({ view: "compare", model: "tiny-bert", text: kText, off: "0.1,2.3" });
  await page.goto(address(served, "#" + start.toString().replaceAll("+", "%20")));
  await page.getByRole("button", { name: "All heads on" }).click();
  await compared(page);
  await expect(page.getByText("2 heads off", { exact: true })).toBeVisible();
  const first = page.locator("section.view tbody tr").first();
  await expect(first).not.toContainText("0.1"); // nothing changes before a head is missing
  expect(Number((await first.locator("td").nth(1).innerText()).replace("e−", "e-"))).toBeGreaterThan(0);
});

test("everything goes by keyboard: heads, cells, the number that is copied", async ({ page, served, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address(served, kCompared));
  await compared(page);
  await page.getByRole("listbox").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/layer=3&head=2/);
  await page.getByRole("application").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  await expect(page).toHaveURL(/row=1&column=1/);
  await expect(page.locator("[aria-live=polite]")).toContainText(/A 0\.\d+, B 0\.\d+, A − B [+−]/);
  await page.keyboard.press("c");
  const shown = await panel(page).locator(".weight").innerText();
  await expect
    .poll(async () => Number(await page.evaluate(() => navigator.clipboard.readText())))
    .toBeCloseTo(Number(shown.trim().replace("e−", "e-").replace("−", "-")), 3);
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/row=/);
  await page.keyboard.press("+");
  await expect(page).toHaveURL(/window=/);
});

test("the command compares the same", async ({ page, served, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(address(served, kCompared));
  await compared(page);
  await page
    .locator("footer")
    .getByRole("button", { name: /command line/ })
    .click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    `attnscope compare '${kText}' '${kOther}' --model tiny-bert --layer 2 --head 1`,
  );
});

test("both texts of an encoder-decoder are compared", async ({ page: _, browser }) => {
  const served = await serve("--model", "tiny-translate", "--text", "a red house");
  const page = await freshPage(browser);
  await page.goto(address(served, hash({ modelB: "tiny-translate", textB: "a blue house", kind: "cross" })));
  await compared(page);
  await expect(page.getByText("What is looked at:")).toBeVisible();
  await page.close();
  await end(served);
});

testLooks("comparing", ["#view=compare", kCompared + "&row=3&column=2"]);
