// The course: every lesson of lessons/, as the program tells it.
import { existsSync, readdirSync } from "node:fs";
import type { Page } from "@playwright/test";
import { findings } from "./axe";
import { address, expect, hasWorker, type Served, settled, test } from "./program";

const folder = new URL("../../../lessons/", import.meta.url);
const names = readdirSync(folder).filter((name) => existsSync(new URL(`${name}/lesson.json`, folder)));

type Nested = number | null | Nested[];
interface Told {
  title: string;
  settings: { name: string; value: number; least: number; most: number; whole: boolean }[];
  steps: {
    id: string;
    blocks: { what: string; text: string; how?: string; measured?: boolean; tolerance?: number }[];
  }[];
  arrays: Record<string, { shape: number[]; numbers: Nested; made: { by: string; left?: string; right?: string } }>;
  code: Record<string, { cpp?: string; python?: string }>;
  figures: Record<string, string>;
}

const post = (served: Served, path: string, body: unknown): Promise<Response> =>
  fetch(address(served, `api/lessons/${path}`), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

async function tell(served: Served, name: string, settings = {}, lang = "en"): Promise<Told | null> {
  const answer = await post(served, name, { lang, settings });
  return answer.ok ? ((await answer.json()) as Told) : null;
}

async function open(page: Page, served: Served, name: string): Promise<void> {
  await page.goto(address(served, `learn#${name}`));
  await expect(page.locator("article")).toBeVisible();
  await settled(page);
}

// What the figures of the page show: name and shape, and what stands in the table of each.
interface Shown {
  name: string;
  shape: string;
  rows: string[][];
}

const shownFigures = (page: Page): Promise<Shown[]> =>
  page.locator("article figure").evaluateAll((figures) =>
    figures.map((figure) => {
      const texts = (css: string) => [...figure.querySelectorAll<HTMLElement>(css)].map((one) => one.innerText.trim());
      const cells = (row: Element) => [...row.querySelectorAll("td:not([aria-hidden])")];
      return {
        name: texts("figcaption .name").join(),
        shape: texts("figcaption .quiet")[0],
        rows: [...(figure.querySelector("table")?.querySelectorAll("tbody tr") ?? [])].map((row) =>
          cells(row).map((cell) => cell.querySelector("input")?.value ?? (cell.textContent ?? "").trim()),
        ),
      };
    }),
  );

const kWords: Record<string, number> = { "−∞": -Infinity, "∞": Infinity };

// Whether a number of a table shows this one: of endless ones there is no number.
function shows(text: string, wanted: number | null, largest: number): boolean {
  const value = kWords[text] ?? Number(text.replaceAll("−", "-"));
  if (wanted === null) return !Number.isFinite(value);
  if (Math.abs(wanted) >= 1e6 || Math.abs(wanted) < 5e-5)
    return Math.abs(value / (wanted || 1) - (wanted ? 1 : 0)) < 0.06;
  return Math.abs(value - wanted) <= 5.1e-5 * largest;
}

// Measured times, which differ where the page computes them itself.
const isTime = (told: Told, name: string): boolean =>
  told.steps.some(({ blocks }) => blocks.some(({ text, measured }) => measured && text === name));

// All tables of two axes on the page have the numbers that the program tells.
async function expectNumbers(page: Page, told: Told): Promise<void> {
  for (const { name, shape, rows } of await shownFigures(page)) {
    const { shape: wantedShape, numbers } = told.arrays[name];
    expect(shape).toBe(`[${wantedShape.join(", ")}]`);
    if (wantedShape.length !== 2 || (hasWorker() && isTime(told, name))) continue;
    const wanted = numbers as (number | null)[][];
    const all = wanted.flat().map((one) => Math.abs(one ?? 0));
    const largest = Math.max(1, ...all.filter((one) => one < 1e6));
    const wrong = rows.flatMap((row, i) =>
      row.flatMap((text, j) =>
        shows(text, wanted[i][j], largest) ? [] : `${name} ${i} ${j}: ${text}, ${wanted[i][j]}`,
      ),
    );
    expect(wrong).toEqual([]);
  }
}

const looks = (page: Page): Promise<number> =>
  page.locator("article").evaluate((article) => {
    let sum = 0; // of all of it, short enough for a message
    for (const letter of article.innerHTML) sum = (31 * sum + letter.codePointAt(0)!) | 0;
    return sum;
  });

// What of a lesson the page shows: its texts, and the arrays and figures that they name.
const seen = ({ steps, arrays, figures }: Told): string =>
  JSON.stringify(
    steps.flatMap(({ blocks }) =>
      blocks.map(({ text, how }) => [text, how === "table" ? arrays[text] : (figures[text] ?? arrays[text])]),
    ),
  );

async function inLightAndDark(page: Page): Promise<string[]> {
  const found = await findings(page);
  await page.getByRole("button", { name: "Light or dark" }).click();
  return [...found, ...(await findings(page))];
}

for (const name of names) {
  test(`lesson ${name} shows the program's numbers, also on a small screen, and is clean`, async ({ page, served }) => {
    test.setTimeout(90_000);
    const told = (await tell(served, name))!;
    await open(page, served, name);
    await expect(page.getByRole("heading", { level: 2 })).toHaveCount(1);
    await expectNumbers(page, told);
    for (const figure of await page.locator("article img").all())
      expect(await figure.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 0)).toBe(true);
    await page.locator("article details").evaluateAll((all) => all.forEach((one) => one.setAttribute("open", "")));
    expect(await inLightAndDark(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    const over = () =>
      page.evaluate(() => {
        const main = document.querySelector("main")!;
        return Math.max(main.scrollWidth - main.clientWidth, document.documentElement.scrollWidth - innerWidth);
      });
    expect(await over()).toBe(0);
    const wide = await page
      .locator("article > section > *")
      .evaluateAll((blocks) =>
        blocks.filter((block) => block.getBoundingClientRect().right > innerWidth).map((block) => block.outerHTML),
      );
    expect(wide).toEqual([]);
  });
}

test("the list is the course's, and the microscope is one click away", async ({ page, served }) => {
  await page.goto(address(served));
  await page.getByRole("link", { name: "Course" }).click();
  await expect(page.locator("ol li")).toHaveCount(names.length);
  await expect(page.locator("ol li").first()).toContainText("Word by word");
  expect(await inLightAndDark(page)).toEqual([]);
  await page.getByRole("button", { name: "中文" }).click();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-Hans");
  const { lessons } = (await (await fetch(address(served, "api/lessons?lang=zh"))).json()) as {
    lessons: { line: string; minutes: number }[];
  };
  await expect(page.locator("ol li").nth(1)).toContainText(lessons[1].line);
  await page.locator("ol a").nth(1).click();
  await expect(page.locator("article")).toBeVisible();
  await page.goBack();
  await expect(page.locator("ol li")).toHaveCount(names.length);
  await page.getByRole("link", { name: "显微镜" }).click();
  await expect(page.locator("[data-tour=panel]")).toBeVisible();
});

for (const name of names) {
  test(`lesson ${name} follows its settings, gives its code and checks its question`, async ({ page, served }) => {
    test.setTimeout(90_000);
    await page.emulateMedia({ reducedMotion: "reduce" }); // else every field is scrolled to for a second
    const told = (await tell(served, name))!;
    await open(page, served, name);
    for (const setting of told.settings) {
      const { value, least, most, whole } = setting;
      const step = whole ? 1 : (most - least) / 10;
      const next = value + step <= most ? value + step : value - step;
      if (next < least) continue;
      const before = await looks(page);
      const other = await tell(served, name, { [setting.name]: next });
      if (!other) page.removeAllListeners("console"); // the browser itself tells of answers with 400
      const field = page.locator(`aside .setting[data-name="${setting.name}"]`).getByRole("spinbutton");
      await field.fill(String(next));
      if (!other) await expect(page.getByRole("alert")).toBeVisible();
      else if (seen(other) !== seen(told)) {
        await expect.poll(() => looks(page)).not.toBe(before);
        await expect(page.locator("article")).toHaveAttribute("aria-busy", "false");
        await expectNumbers(page, other);
      }
      await page.getByRole("button", { name: "Reset" }).click();
      await expect(page.getByRole("button", { name: "Reset" })).toHaveCount(0);
      await expect(page.locator("article")).toHaveAttribute("aria-busy", "false");
    }
    await expectNumbers(page, told);

    const withCode = told.steps.find(({ id }) => told.code[id]?.python && told.code[id]?.cpp);
    if (withCode) {
      const part = page.locator(`section[aria-labelledby="step-${withCode.id}"]`);
      await part.getByText("Show the code").click();
      const panel = part.getByRole("tabpanel");
      expect(await panel.innerText()).toContain(told.code[withCode.id].cpp!.trim().split("\n")[0].trim());
      await part.getByRole("tab", { name: "Python" }).click();
      expect((await panel.textContent())!.trim()).toBe(told.code[withCode.id].python!.trim());
    }

    const asks = told.steps.find(({ blocks }) => blocks.some(({ tolerance }) => tolerance !== undefined));
    expect(asks, "every lesson has a question").toBeDefined();
    const { number } = (await (await post(served, `${name}/answer`, { step: asks!.id, answer: 0 })).json()) as {
      number: number;
    };
    const form = page.locator("form").first();
    await form.getByRole("textbox").fill(String(number + 1000));
    await form.getByRole("button", { name: "Check" }).click();
    await expect(form.getByRole("status")).toHaveText("Not yet: 1000 away.");
    await form.getByRole("textbox").fill(String(number));
    await form.getByRole("button", { name: "Check" }).click();
    await expect(form.getByRole("status")).toHaveText("✓Right.");
    await page.getByRole("link", { name: "All lessons" }).click();
    await expect(page.locator("li").filter({ hasText: "question answered" })).toHaveCount(1);
  });
}

const table = (page: Page, name: string) =>
  page.locator("figure").filter({ has: page.locator(".name", { hasText: new RegExp(`^${name}$`) }) });

test("a number that is pointed at lights up what made it", async ({ page, served }) => {
  await open(page, served, "dot-product");
  await table(page, "scores").locator("tbody td").first().hover();
  await expect(table(page, "Q").first().locator("td.lit")).toHaveCount(2);
  await expect(table(page, "K").first().locator("tr:first-child td.lit")).toHaveCount(2);
  await expect(page.getByRole("tooltip")).toHaveText("1·1 + 0·0 = 1");
  await page.mouse.move(2, 2); // else it points at whatever the focus scrolls beneath it
  await table(page, "output").first().locator("tbody td").nth(1).focus();
  await expect(table(page, "V").first().locator("td.lit")).toHaveCount(3);
  await page.keyboard.press("ArrowLeft");
  await expect(page.getByRole("tooltip")).toContainText("= 16.04");
  await page.mouse.move(2, 2);
});

test("a number that is typed and an arrow that is dragged change all that follows from them", async ({
  page,
  served,
}) => {
  await open(page, served, "dot-product");
  const weights = table(page, "weights").first();
  const before = await weights.locator("tbody td").allInnerTexts();
  await page.getByLabel("K, row Python programming, column 0").fill("2");
  await expect.poll(() => weights.locator("tbody td").allInnerTexts()).not.toEqual(before);
  await expect(weights.locator("td.changed")).toHaveCount(3);
  await expect(weights.locator("td.changed")).toHaveCount(0);
  const arrow = table(page, "Q").first().locator(".arrow");
  await arrow.focus();
  await page.keyboard.press("ArrowUp");
  const field = page.getByLabel("Q, row machine learning, column 1");
  await expect.poll(async () => Number(await field.inputValue())).toBeGreaterThan(0);
  const box = (await table(page, "Q").first().locator("svg[role=group]").boundingBox())!;
  const tip = (await arrow.locator("circle").boundingBox())!;
  await page.mouse.move(tip.x + tip.width / 2, tip.y + tip.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 4, { steps: 4 });
  await page.mouse.up();
  await expect
    .poll(async () => Number(await page.getByLabel("Q, row machine learning, column 0").inputValue()))
    .toBeLessThan(0);
  await page.getByRole("button", { name: "Reset" }).click();
  await expect.poll(() => weights.locator("tbody td").allInnerTexts()).toEqual(before);
});

test("a mask is painted and written, each becomes the other", async ({ page, served }) => {
  page.removeAllListeners("console"); // the browser itself tells of answers with 400
  await open(page, served, "masks");
  const field = page.getByRole("textbox", { name: "Mask", exact: true });
  await field.fill("causal");
  await expect(page.getByText("causal has 36 pairs on 8 tokens")).toBeVisible();
  const grid = page.getByRole("application");
  await expect(grid.locator("span.seen")).toHaveCount(36);
  await grid.locator("span").nth(7).click();
  await expect(grid.locator("span.seen")).toHaveCount(37);
  await expect(field).toHaveValue(/^table\(10000001,11000000,/);
  await expect(page.getByText("has 37 pairs on 8 tokens")).toBeVisible();
  await field.fill("causl");
  await expect(page.getByRole("alert")).toContainText("causl");
  await expect(page.getByText("has 37 pairs on 8 tokens")).toBeVisible();
});

test("a matrix is checked, a sentence is read, heads are switched off", async ({ page, served }) => {
  await open(page, served, "deep-ml-53");
  await expect(page.getByText("No answer yet.")).toBeVisible();
  const right = ((await tell(served, "deep-ml-53"))!.arrays.output.numbers as number[][]).map((row) =>
    row.map((one) => one.toFixed(4)),
  );
  await page.getByLabel("answer, row 0, column 0").fill("9");
  await expect(page.getByText(/Not yet: 4 of the numbers differ/)).toBeVisible();
  for (const [i, row] of right.entries())
    for (const [j, value] of row.entries()) await page.getByLabel(`answer, row ${i}, column ${j}`).fill(value);
  await expect(page.getByText("Right, every number of it.")).toBeVisible();

  await open(page, served, "text-attention");
  await page.getByRole("textbox", { name: "text", exact: true }).first().fill("编程 很 有趣");
  await expect(table(page, "X").first().locator("tbody tr")).toHaveCount(3);

  await open(page, served, "multi-head");
  await expect(table(page, "weights").first().locator("table")).toHaveCount(4);
  await page.getByRole("button", { name: "2", exact: true }).click();
  await expect(table(page, "weights").first().locator("table")).toHaveCount(2);
  await open(page, served, "bert");
  const lines = page.getByRole("img", { name: "of 4 heads" }).locator("line");
  const all = await lines.count();
  await page.getByRole("button", { name: "head 0" }).click();
  await expect(page.getByRole("img", { name: "of 3 heads" })).toBeVisible();
  expect(await page.getByRole("img", { name: "of 3 heads" }).locator("line").count()).toBeLessThan(all);
});

test("the address keeps the lesson and what is set; nothing moves for who wants no motion", async ({
  page,
  served,
}) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open(page, served, "why-scale?d_k=16");
  await expect(page.getByRole("spinbutton", { name: /^d_k/ })).toHaveValue("16");
  await expectNumbers(page, (await tell(served, "why-scale", { d_k: 16 }))!);
  await page.getByRole("spinbutton", { name: /^d_k/ }).fill("64");
  await expect(page).toHaveURL(/#why-scale\?d_k=64$/);
  const changed = page.locator("td.changed").first();
  await expect(changed).toBeVisible();
  expect(await changed.evaluate((cell) => getComputedStyle(cell).boxShadow)).toBe("none");
});
