import { expect, test } from "vitest";
import { withStart } from "../../src/api/takeAlong";

const kEmpty = '<meta name="attnscope-start" content="" />';

test("the address is written into its place, and nothing else changes", async () => {
  const file = new Blob([`<html>\n${kEmpty}\n<b>Übung 你好</b>`, "x".repeat(20_000)]);
  const saved = await withStart(file, '#model=tiny-bert&text=a"<b');
  expect(await saved.text()).toBe(
    (await file.text()).replace(
      kEmpty,
      '<meta name="attnscope-start" content="#model=tiny-bert&amp;text=a&quot;&lt;b" />',
    ),
  );
});

test("a file without such a place stays as it is", async () => {
  expect(await (await withStart(new Blob(["<html>"]), "#a")).text()).toBe("<html>");
});
