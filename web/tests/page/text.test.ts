import { execFileSync } from "node:child_process";
import type { Page } from "@playwright/test";
import { testLooks } from "./axe";
import {
  address,
  end,
  expect,
  freshPage,
  intercept,
  kText,
  program,
  serve,
  type Served,
  settled,
  test,
  watchRequests,
} from "./program";

const kGaps = "The film was [MASK] and the actors were wonderful.";
const written = (page: Page) => page.getByRole("textbox", { name: "Text", exact: true }).first();
const panel = (page: Page) => page.locator("aside[data-tour=panel]");
const hash = (text: string, rest = "", model = "tiny-bert") =>
  `#view=text&model=${model}&text=${encodeURIComponent(text)}${rest}`;

interface Made {
  id: string;
}
interface Choice {
  id: number;
  text: string;
  probability: number;
}
interface Predictions {
  what: string;
  places: { token: number; entropy: number; choices: Choice[] }[];
  labels: { label: string; probability: number }[] | null;
}

async function made(served: Served, body: unknown): Promise<string> {
  const answer = await fetch(address(served, "api/recordings"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return ((await answer.json()) as Made).id;
}

const asked = async <T>(served: Served, path: string): Promise<T> =>
  (await fetch(address(served, path))).json() as Promise<T>;

const table = (page: Page, n = 0) =>
  page
    .locator(".predictions table")
    .nth(n)
    .locator("tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("th, td.number")].map((cell) => cell.textContent!.trim())),
    );

// As the page shows a number: three digits.
const near = (shown: string, value: number) =>
  expect(Math.abs(Number(shown.replace("e−", "e-")) - value)).toBeLessThan(0.006 * value + 1e-9);

test.describe("the text in the top bar", () => {
  test("is read while it is written, and everything else stays", async ({ page, served }) => {
    await page.goto(address(served, "#view=matrix&layer=1&head=2&row=2&column=3"));
    await settled(page);
    await written(page).focus();
    await page.keyboard.press("Home");
    await page.keyboard.type("Today ", { delay: 20 });
    await expect(page).toHaveURL(/view=matrix&model=tiny-bert&text=Today.*layer=1&head=2&row=3&column=4/);
    await expect(panel(page).locator(".cell small")).toHaveText(["3", "4"]);
    await expect(panel(page).locator(".cell h2").first()).toContainText("film");
  });

  test("can be undone by going back, a pause at a time", async ({ page, served }) => {
    await page.goto(address(served, "#view=overview"));
    await settled(page);
    await written(page).focus();
    await page.keyboard.press("End");
    await page.keyboard.type(" Yes.", { delay: 20 });
    await expect(page).toHaveURL(/Yes\./);
    await page.waitForTimeout(2200);
    await page.keyboard.type(" No.", { delay: 20 });
    await expect(page).toHaveURL(/No\./);
    await page.goBack();
    await expect(written(page)).toHaveValue(`${kText} Yes.`);
    await page.goBack();
    await expect(written(page)).toHaveValue(kText);
    await page.goForward();
    await expect(written(page)).toHaveValue(`${kText} Yes.`);
  });

  test("is not read in the middle of a composed character", async ({ page, served }) => {
    await page.goto(address(served, "#view=overview"));
    await settled(page);
    const requests = watchRequests(page);
    await requests.clear();
    const posts = async () => (await requests.all()).filter((line) => line.startsWith("POST"));
    const client = await page.context().newCDPSession(page);
    await written(page).focus();
    await page.keyboard.press("End");
    await client.send("Input.imeSetComposition", { text: "mao", selectionStart: 3, selectionEnd: 3 });
    await page.waitForTimeout(500);
    expect(await posts()).toEqual([]);
    await client.send("Input.insertText", { text: "猫" });
    await expect.poll(async () => (await posts()).length).toBe(1);
    expect((await posts())[0]).toContain(`${kText}猫`);
  });

  test("that cannot be read says why and leaves what is there", async ({ page: _, browser, served }) => {
    const page = await freshPage(browser);
    await page.goto(address(served, "#view=overview"));
    await settled(page);
    await written(page).fill("word ".repeat(59).trim());
    await expect(page.getByRole("alert")).toHaveCount(0);
    await written(page).fill("");
    await expect(page.locator(".refused")).not.toBeEmpty();
    await expect(page.locator("[data-tour=look]")).toBeVisible();
    await written(page).fill("A cat.");
    await expect(page.locator(".refused")).toHaveCount(0);
    await page.close();
  });

  test("goes to another model, and has a second text for encoders", async ({ page, served }) => {
    await page.goto(address(served, "#view=overview"));
    await settled(page);
    await page.getByRole("button", { name: "+ second text" }).click();
    await page.getByRole("textbox", { name: "Second text" }).fill("It is over.");
    await expect(page).toHaveURL(/pair=It%20is%20over/);
    await page.keyboard.press("Tab");
    await page.getByRole("combobox", { name: "Model" }).selectOption("tiny-gpt");
    await expect(page).toHaveURL(/model=tiny-gpt/);
    await expect(page).not.toHaveURL(/pair/);
    await expect(page.getByRole("button", { name: "+ second text" })).toHaveCount(0);
  });
});

test("what takes long says how far it is, can be stopped, and what was there stays", async ({ page, served }) => {
  await page.goto(address(served, "#view=overview"));
  await settled(page);
  await intercept(page, { url: "api/recordings$", body: "cat", do: { what: "hold" } });
  await written(page).fill("A cat.");
  await expect(page.getByRole("progressbar")).toBeVisible();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByRole("progressbar")).toHaveCount(0);
  await expect(written(page)).toHaveValue(kText);
  await expect(page).not.toHaveURL(/cat/);
});

test.describe("predictions", () => {
  test("for a gap are those of attnscope fill, and a click fills it", async ({ page, served }) => {
    await page.goto(address(served, hash(kGaps)));
    await expect(page.locator(".predictions")).toContainText("For the gap at 4");
    const options = ["fill", "--model", "tiny-bert", "--text", kGaps, "--top", "10", "--json"];
    const { masks } = JSON.parse(execFileSync(program, options, { encoding: "utf8" })) as {
      masks: { words: { word: string; probability: number }[] }[];
    };
    const rows = await table(page);
    expect(rows.map(([word]) => word)).toEqual(masks[0].words.map(({ word }) => word));
    rows.forEach(([, number], i) => near(number, masks[0].words[i].probability));
    const best = masks[0].words[0].word;
    await page.locator(".predictions").getByRole("button", { name: best, exact: true }).first().click();
    await expect(written(page)).toHaveValue(kGaps.replace("[MASK]", best));
  });

  test("become certain when it is cold, and the address keeps the temperature", async ({ page, served }) => {
    await page.goto(address(served, hash(kGaps, "&temperature=0.3")));
    await expect(page.locator(".predictions")).toContainText("For the gap at 4");
    const id = await made(served, { model: "tiny-bert", text: kGaps });
    const cold = await asked<Predictions>(served, `api/recordings/${id}/predictions?top=10&temperature=0.3`);
    near((await table(page))[0][1], cold.places[0].choices[0].probability);
    await page.getByRole("slider", { name: "Temperature" }).focus();
    await page.keyboard.press("End");
    await expect(page).toHaveURL(/temperature=5/);
    const hot = await asked<Predictions>(served, `api/recordings/${id}/predictions?top=10&temperature=5`);
    await expect(async () => near((await table(page))[0][1], hot.places[0].choices[0].probability)).toPass();
    expect(hot.places[0].choices[0].probability).toBeLessThan(cold.places[0].choices[0].probability);
  });

  test("without a gap are for the token that is chosen", async ({ page, served }) => {
    await page.goto(address(served, hash(kText)));
    await expect(page.locator(".predictions")).toContainText("In place of “the” at 1");
    await page.locator('[data-token="2"]').click();
    await expect(page.locator(".predictions")).toContainText("In place of “film” at 2");
    await expect(page).toHaveURL(/row=2/);
    await page.keyboard.press("ArrowRight");
    await expect(page.locator(".predictions")).toContainText("In place of “was” at 3");
    const id = await made(served, { model: "tiny-bert", text: kText });
    const here = await asked<Predictions>(served, `api/recordings/${id}/predictions?at=3`);
    expect((await table(page)).map(([word]) => word)).toEqual(here.places[0].choices.map(({ text }) => text));
  });

  test("of labels are those of attnscope classify", async ({ page, served }) => {
    const text = "A wonderful film.";
    await page.goto(address(served, hash(text, "", "imdb-sentiment")));
    await expect(page.locator(".predictions")).toContainText("Labels");
    const options = ["classify", "--model", "imdb-sentiment", "--text", text, "--json"];
    const said = JSON.parse(execFileSync(program, options, { encoding: "utf8" })) as {
      scores: { label: string; probability: number }[];
    };
    const rows = await table(page);
    for (const { label, probability } of said.scores) near(rows.find(([name]) => name === label)![1], probability);
  });
});

test.describe("generation", () => {
  const kPrompt = "Once upon a time";

  test("writes what attnscope generate writes, a token at a time, and the timeline goes through it", async ({
    page,
    served,
  }) => {
    await page.goto(address(served, hash(kPrompt, "", "tiny-gpt")));
    await page.getByRole("spinbutton", { name: "Tokens" }).fill("8");
    await page.getByRole("spinbutton", { name: "Temperature" }).fill("0");
    await page.getByRole("button", { name: "Generate" }).click();
    await expect(page.getByText("8 tokens written")).toBeVisible();
    await expect(page).toHaveURL(/generate=8,0,0,1,0/);
    const options = ["generate", "--model", "tiny-gpt", "--prompt", kPrompt, "--tokens", "8", "--json"];
    const said = JSON.parse(execFileSync(program, options, { encoding: "utf8" })) as { text: string };
    const shown = await page.locator(".token bdi").allTextContents();
    expect(shown.join("").replaceAll("·", " ")).toBe(said.text.replaceAll("\n", "\\n"));

    await page.getByRole("button", { name: "Next step" }).click();
    await expect(page).toHaveURL(/step=0/);
    await page.getByRole("slider", { name: "Step" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect(page).toHaveURL(/step=2/);
    const body = { tokens: 8, temperature: 0, top_k: 0, top_p: 1, seed: 0 };
    const id = await made(served, { model: "tiny-gpt", text: kPrompt, generate: body });
    const { generated } = await asked<{ generated: { from: number; steps: Choice[] } }>(served, `api/recordings/${id}`);
    await expect(panel(page).locator(".weight")).toBeVisible();
    near(await panel(page).locator(".weight span").first().innerText(), generated.steps[2].probability);

    const row = generated.from + 1;
    const layer = /layer=(\d)/.exec(page.url())![1];
    const head = /head=(\d)/.exec(page.url())![1];
    const bytes = await fetch(
      address(served, `api/recordings/${id}/row?kind=self&layer=${layer}&head=${head}&row=${row}`),
    );
    const weights = [...new Float32Array(await bytes.arrayBuffer())];
    const most = Math.max(...weights);
    near(await panel(page).locator("table").last().locator("td.number").first().innerText(), most);
    await panel(page).getByRole("button", { name: "Matrix" }).click();
    await expect(page).toHaveURL(new RegExp(`view=matrix.*row=${row}`));
  });

  test("that is stopped makes nothing, but what has come can be kept", async ({ page, served }) => {
    await page.goto(address(served, hash(kPrompt, "", "tiny-gpt")));
    await settled(page);
    const steps = [" there", " was"].map((text, step) => ({
      ...{ step, id: 1, text, probability: 0.5 },
      ...{ choices: [], entropy: 1 },
    }));
    // The page's own reader of streams is fed here, as the built-in model is too quick to be stopped.
    await intercept(page, {
      url: "api/recordings$",
      body: '"generate"',
      do: { what: "events", events: steps.map((step) => ["token", step]) },
    });
    await page.getByRole("button", { name: "Generate" }).click();
    await expect(page.locator(".token").last()).toContainText("was");
    await page.locator("form").getByRole("button", { name: "Stop" }).click();
    await expect(page.getByText("Stopped after 2 tokens")).toBeVisible();
    await expect(page).not.toHaveURL(/generate/);
    await page.getByRole("button", { name: "Keep these" }).click();
    await expect(written(page)).toHaveValue(`${kPrompt} there was`);
  });

  test("of an encoder-decoder answers, and looks at the source", async ({ page, served }) => {
    await page.goto(address(served, hash("The cat is red", "", "tiny-translate")));
    await page.getByRole("spinbutton", { name: "Temperature" }).fill("0");
    await page.getByRole("button", { name: "Answer" }).click();
    await expect(page.getByText(/\d+ tokens written/)).toBeVisible();
    await page.getByRole("button", { name: "Next step" }).click();
    await expect(page).toHaveURL(/kind=cross.*row=0/);
    await expect(page.locator(".strip.charted")).toHaveCount(1);
    await expect(page.locator(".strip.charted")).toContainText("cat");
  });
});

test("a recording that was dropped is made again without a word", async ({ page, served }) => {
  await page.goto(address(served, "#view=matrix&model=tiny-bert&text=A%20cat.&layer=1&head=2"));
  await settled(page);
  const json = { error: "there is no recording 2" };
  await intercept(page, { url: "/row\\?", times: 1, do: { what: "answer", status: 404, json } });
  page.removeAllListeners("console");
  const requests = watchRequests(page);
  await requests.clear();
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(async () => (await requests.all()).some((line) => line.startsWith("POST"))).toBe(true);
  await expect(panel(page).locator(".weight span").first()).toHaveText(/\d/);
  await expect(page.getByRole("alert")).toHaveCount(0);
});

testLooks("text", [
  hash(kGaps),
  hash("Once upon a time", "&generate=6,0,0,1,0&step=2&row=7", "tiny-gpt"),
  hash("The cat is red", "&kind=cross&row=1", "tiny-translate"),
]);

test("a long text is edited in its own view, and stays within bounds", async ({ page: _, browser }) => {
  const long = Array.from({ length: 90 }, (_, i) => ["the", "cat", "sat", "down"][i % 4]).join(" ");
  const served = await serve("--model", "tiny-gpt", "--text", long);
  const page = await freshPage(browser);
  await page.goto(address(served, "#view=overview"));
  await settled(page);
  await page.getByRole("button", { name: "edit in Text" }).click();
  await expect(page).toHaveURL(/view=text/);
  await expect(page.getByRole("textbox", { name: "Text", exact: true })).toHaveValue(long);
  await settled(page);
  expect(await page.locator("*").count()).toBeLessThan(3000);
  await page.close();
  await end(served);
});
