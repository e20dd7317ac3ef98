// Files of the user's: recordings, tables and models, dropped or chosen.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { lookOver } from "./axe";
import { chooseFiles, chooseFolder, dropFiles } from "./ownFiles";
import { address, expect, intercept, kText, program, settled, stopIntercepting, test } from "./program";

const models = fileURLToPath(new URL("../../../models/", import.meta.url));
const written = (page: Page) => page.getByRole("textbox", { name: "Text", exact: true }).first();
const alert = (page: Page) => page.getByRole("alert");
const run = (...options: string[]) => execFileSync(program, options, { stdio: ["ignore", "pipe", "ignore"] });

const kSix = "Once upon a time there was";

// A file of each kind, in a folder of the test's.
function recording(): string {
  const file = test.info().outputPath("my recording.attn");
  run("record", "--model", "tiny-gpt", "--text", kSix, "-o", file);
  return file;
}

function table(extension: "csv" | "json" | "npy"): string {
  const file = test.info().outputPath(`table.${extension}`);
  const read = ["weights", "--model", "tiny-gpt", "--text", kSix, "--layer", "1", "--head", "0"];
  if (extension !== "npy") writeFileSync(file, run(...read, `--${extension}`));
  else writeFileSync(file, npyOf([0.5, 0.5, 0.25, 0.75], 2));
  return file;
}

function npyOf(numbers: number[], columns: number): Buffer {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${numbers.length / columns}, ${columns}), }`;
  const padded = header.padEnd(117) + "\n";
  const start = Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, padded.length & 255, padded.length >> 8]);
  return Buffer.concat([start, Buffer.from(padded), Buffer.from(Float32Array.from(numbers).buffer)]);
}

function model(...without: string[]): string {
  const folder = test.info().outputPath("mine");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const name of ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"])
    if (!without.includes(name)) cpSync(`${models}tiny-gpt/${name}`, `${folder}/${name}`);
  return folder;
}

test.beforeEach(async ({ page, served }) => {
  await page.goto(address(served));
  await settled(page);
});

test("a dragged file finds a target, and a dropped recording is shown", async ({ page }) => {
  const file = recording();
  await dropFiles(page, [{ path: file }], "drag");
  await expect(page.getByText("Drop it to open it")).toBeVisible();
  await expect(page.getByText("Nothing leaves this machine.")).toBeVisible();
  expect((await lookOver(page)).findings).toEqual([]);
  await dropFiles(page, [{ path: file }]);
  await expect(page.getByText("Drop it to open it")).toHaveCount(0);
  await expect(written(page)).toHaveValue(kSix);
  await settled(page);
  await page.getByRole("button", { name: "Matrix" }).first().click();
  await expect(page).toHaveURL(/view=matrix/);
  await settled(page);
  await expect(alert(page)).toHaveCount(0);
  await page.goBack();
  await page.goBack();
  await expect(written(page)).toHaveValue(kText);
  await page.goForward();
  await expect(written(page)).toHaveValue(kSix);
  await page.getByRole("combobox", { name: "Model" }).selectOption("tiny-bert");
  await expect(page).toHaveURL(/model=tiny-bert&text=Once/);
});

for (const extension of ["csv", "json", "npy"] as const) {
  test(`a table is shown: ${extension}`, async ({ page }) => {
    await dropFiles(page, [{ path: table(extension) }]);
    await expect(page.getByRole("combobox", { name: "Model" })).toContainText(`table.${extension}`);
    await settled(page);
    await page.keyboard.press("3");
    await expect(page.getByRole("application")).toBeVisible();
    await expect(alert(page)).toHaveCount(0);
    await page.getByRole("combobox", { name: "Model" }).selectOption("tiny-gpt");
    await expect(written(page)).toHaveValue(/\w/);
  });
}

test("a model is opened as a folder, reads the text, and writes", async ({ page }) => {
  await chooseFolder(page, model());
  await expect(page).toHaveURL(/model=mine/);
  await expect(page.getByRole("combobox", { name: "Model" })).toHaveValue("mine");
  await expect(written(page)).toHaveValue(kText);
  await written(page).fill(kSix);
  await expect(page).toHaveURL(/Once/);
  await settled(page);
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Text", exact: true }).click();
  await page.getByRole("spinbutton", { name: "Tokens" }).fill("4");
  await page.getByRole("button", { name: "Generate" }).click();
  await expect(page.getByText("4 tokens written")).toBeVisible();
});

test("a model is opened as its files, too", async ({ page }) => {
  const folder = model();
  const names = ["config.json", "tokenizer.json", "model.safetensors"];
  await chooseFiles(page, ...names.map((name) => `${folder}/${name}`));
  await expect(page).toHaveURL(/model=model/);
  await settled(page);
  await expect(alert(page)).toHaveCount(0);
});

test("what cannot be opened is said in one sentence each", async ({ page }) => {
  const note = test.info().outputPath("note.txt");
  writeFileSync(note, "hello");
  const broken = test.info().outputPath("broken.npy");
  writeFileSync(broken, "not numpy");
  const folder = model();
  const cases: [string[], RegExp][] = [
    [[note], /note\.txt is no recording/],
    [[table("csv"), table("npy")], /several things/],
    [[`${folder}/tokenizer.json`, `${folder}/model.safetensors`], /no config\.json/],
    [[`${folder}/config.json`, `${folder}/model.safetensors`], /no tokenizer\.json/],
    [[`${folder}/config.json`, `${folder}/tokenizer.json`], /no weights/],
    [[broken], /broken\.npy cannot be opened: /],
  ];
  page.removeAllListeners("console"); // the browser itself tells of answers with 400
  for (const [files, sentence] of cases) {
    await dropFiles(
      page,
      files.map((path) => ({ path })),
    );
    await expect(alert(page)).toHaveText(sentence);
    expect((await lookOver(page)).findings).toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    await expect(alert(page)).toHaveCount(0);
  }
  await expect(written(page)).toHaveValue(kText);
});

test("opening can be stopped", async ({ page }) => {
  await intercept(page, { url: "api/files/\\d+/open", do: { what: "hold" } });
  await dropFiles(page, [{ path: recording() }]);
  await expect(page.getByText("Opening my recording.attn…")).toBeVisible();
  expect((await lookOver(page)).findings).toEqual([]);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Opening")).toHaveCount(0);
  await stopIntercepting(page);
  await written(page).fill("A cat.");
  await expect(page).toHaveURL(/cat/);
  await settled(page);
  await expect(alert(page)).toHaveCount(0);
});

test("the dialog goes by keyboard, in both languages, and is clean", async ({ page }) => {
  await page.getByRole("button", { name: "Open a file…" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Open a file of your own" });
  await expect(dialog).toBeVisible();
  const { findings, over } = await lookOver(page);
  expect([findings, over]).toEqual([[], [0, 0]]);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(/^(?!.*view=(?!overview))/); // Escape has not reached the page
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("button", { name: "打开文件…" }).click();
  await expect(page.getByRole("dialog")).toContainText("文件不会离开这台机器");
});
