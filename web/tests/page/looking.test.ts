// Measures, searches, what can be taken away, and what becomes what.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Download, Page } from "@playwright/test";
import { lookOver } from "./axe";
import { expectSame } from "./near";
import { address, expect, intercept, kText, program, rowOf, settled, test, watchRequests } from "./program";

const kRead = ["--model", "tiny-bert", "--text", kText];
const kMatrix = "#view=matrix&layer=1&head=2&row=4&column=3";
const panel = (page: Page) => page.locator("aside[data-tour=panel]");
const said = (...options: string[]): string => execFileSync(program, options, { maxBuffer: 1 << 26 }).toString();
const three = (value: number) => value.toPrecision(3).slice(0, 4);

test.describe("measures", () => {
  test("weights times values have their scale, and the exact numbers", async ({ page, served }) => {
    await page.goto(address(served, kMatrix));
    await page.getByRole("combobox", { name: "Measure" }).selectOption("value");
    await expect(page).toHaveURL(/measure=value/);
    const row = await rowOf(served, 1, 2, 4, "&measure=value");
    await expect(panel(page).locator(".weight")).toContainText(three(row[3]));
    const [weights] = [await rowOf(served, 1, 2, 4)];
    expect(row[3]).not.toBeCloseTo(weights[3], 4);
    const tile = await fetch(
      address(served, "api/recordings/1/tile?kind=self&layer=1&head=2&level=0&row=0&column=0&measure=value"),
    );
    const scale = Number(tile.headers.get("X-Scale"));
    await expect(page.locator(".scale")).toContainText(`norm of weight × value, up to ${three(scale)}`);
    await expect(page.getByRole("button", { name: "Remove sinks" })).toBeDisabled();
    const bytes = new Uint8Array(await tile.arrayBuffer());
    expect(Math.max(...bytes)).toBe(255);
    row.forEach((value, j) =>
      expect(Math.abs(bytes[4 * row.length + j] - 255 * Math.sqrt(value / scale))).toBeLessThan(0.51),
    );
  });

  test("rollout is of all heads together, and colours fit it", async ({ page, served }) => {
    await page.goto(address(served, kMatrix + "&measure=rollout&fit=1"));
    const { rollout } = JSON.parse(said("rollout", ...kRead, "--layer", "1", "--json")) as { rollout: number[][] };
    const row = await rowOf(served, 1, 2, 4, "&measure=rollout");
    row.forEach((value, j) => expect(value).toBeCloseTo(rollout[4][j], 5));
    await expect(panel(page).locator(".weight")).toContainText(three(row[3]));
    await expect(page.locator(".scale")).toContainText("rollout of layers 0 to 1");
    const most = Math.max(...rollout.flat());
    const last = Number(await page.locator(".scale .ticks span").last().innerText());
    expect(Math.abs(last - most)).toBeLessThan(0.004); // of the nearest byte
  });

  test("sinks are removed by the program", async ({ page, served }) => {
    const requests = watchRequests(page);
    await page.goto(address(served, kMatrix));
    await settled(page);
    await requests.clear();
    await page.keyboard.press("s");
    await expect(page.locator("footer")).toContainText("without sinks");
    const row = await rowOf(served, 1, 2, 4);
    const left = 1 - row[0] - row[row.length - 1]; // [CLS] and [SEP]
    await expect(panel(page).locator(".weight")).toContainText(three(row[3] / left));
    const asked = await requests.all();
    expect(asked.some((url) => /\/tile\?.*without_sinks=1/.test(url))).toBe(true);
    expect(asked.filter((url) => /\/(row|column|tile|profile)\?/.test(url) && !/without_sinks=1/.test(url))).toEqual(
      [],
    );
  });
});

test.describe("a search", () => {
  test("orders heads as the command line does, and ends", async ({ page, served }) => {
    const { heads } = JSON.parse(said("find", "previous", ...kRead, "--top", "99", "--json")) as {
      heads: { layer: number; head: number; similarity: number }[];
    };
    await page.goto(address(served, "#view=overview"));
    await page.getByRole("combobox", { name: "Find" }).fill("previous");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/pattern=previous/);
    await expect(page.getByRole("combobox", { name: "Order" })).toHaveValue("similarity");
    await page.locator(".scroller").focus();
    for (const [key, place] of [
      ["Home", 0],
      ["ArrowRight", 1],
      ["End", heads.length - 1],
    ] as const) {
      await page.keyboard.press(key);
      await expect(panel(page).locator("h2")).toHaveText(`layer ${heads[place].layer} · head ${heads[place].head}`);
    }
    await page.getByRole("button", { name: "End the search" }).click();
    await expect(page).not.toHaveURL(/pattern/);
    await expect(page.getByRole("combobox", { name: "Order" })).toHaveValue("place");
  });

  test("says where a text is wrong", async ({ page, served }) => {
    await page.goto(address(served, "#view=overview&pattern=" + encodeURIComponent("causal & windw(2)")));
    await expect(page.getByRole("alert")).toContainText("column 10");
    expect((await page.locator(".problem pre").innerText()).split("\n")[1]).toBe(" ".repeat(9) + "^");
  });

  test("takes a painted picture", async ({ page, served }) => {
    await page.goto(address(served, "#view=overview"));
    await page.getByRole("button", { name: "Paint", exact: true }).click();
    const painter = page.getByRole("application");
    await expect(painter).toBeFocused();
    const box = (await painter.boundingBox())!;
    await page.mouse.move(box.x + 6, box.y + 6);
    await page.mouse.down();
    await page.mouse.move(box.x + 170, box.y + 170, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.press("Enter");
    const rows = Array.from({ length: 12 }, (_, i) => "0".repeat(i) + "1" + "0".repeat(11 - i));
    await expect.poll(() => decodeURIComponent(page.url())).toContain(`pattern=table(${rows.join(",")})`);
    await expect(page.getByRole("combobox", { name: "Order" })).toHaveValue("similarity");
    await page.locator(".scroller").focus();
    await page.keyboard.press("Home");
    await expect(panel(page).locator(".types")).toContainText("same token");
  });
});

test.describe("what is taken away", () => {
  async function saved(page: Page, name: string): Promise<{ file: string; download: Download }> {
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: `Save: ${name}` }).click();
    const download = await coming;
    const file = test.info().outputPath(download.suggestedFilename());
    await download.saveAs(file);
    return { file, download };
  }

  test("is the same as the command line writes", async ({ page, served }) => {
    await page.goto(address(served, kMatrix));
    await settled(page);
    await page.keyboard.press("e");
    const csv = await saved(page, "Table, CSV");
    expect(csv.download.suggestedFilename()).toBe("tiny-bert-layer1-head2.csv");
    expectSame(readFileSync(csv.file, "utf8"), said("weights", ...kRead, "--layer", "1", "--head", "2", "--csv"));
    const npy = await saved(page, "Table, NPY");
    expect(readFileSync(npy.file).subarray(1, 6).toString()).toBe("NUMPY");
    const png = await saved(page, "Picture, PNG");
    expect(readFileSync(png.file).subarray(1, 4).toString()).toBe("PNG");
    const svg = await saved(page, "Picture, SVG");
    expect(readFileSync(svg.file, "utf8")).toContain("<svg");
    const recording = await saved(page, "Recording");
    expectSame(
      said("weights", "--recording", recording.file, "--layer", "1", "--head", "2", "--csv"),
      readFileSync(csv.file, "utf8"),
    );
    await expect(page.getByRole("status").filter({ hasText: /\.attn, / })).toBeVisible();
  });

  test("one file opens where the reader was, and has a table to take away too", async ({ page, served }) => {
    await page.goto(address(served, kMatrix + "&window=2,2,60&map=cividis"));
    await settled(page);
    await page.keyboard.press("e");
    const { file } = await saved(page, "This page as one file");
    await page.goto(`file://${file}`);
    const weight = (await rowOf(served, 1, 2, 4))[3];
    await expect(panel(page).locator(".weight")).toContainText(three(weight));
    await expect(page.getByRole("combobox", { name: "Colours" })).toHaveValue("cividis");
    await expect(page.getByRole("combobox", { name: "Measure" })).toHaveCount(0);
    await expect(page.getByRole("button", { name: "Trace this weight" })).toHaveCount(0);
    await page.keyboard.press("e");
    await expect(page.getByRole("dialog").getByRole("listitem")).toHaveCount(1);
    const csv = await saved(page, "Table, CSV");
    const line = readFileSync(csv.file, "utf8").split("\n")[5].split(",");
    expect(Math.abs(Number(line[4]) - weight)).toBeLessThan(1e-4);
  });

  test("what the program refuses is said", async ({ page, served }) => {
    await page.goto(address(served, kMatrix));
    await settled(page);
    await intercept(page, {
      url: "/table\\?",
      do: { what: "answer", status: 429, json: { error: "too much at once" } },
    });
    await page.getByRole("button", { name: "export" }).click();
    page.removeAllListeners("console"); // the browser complains about the refusal, as it should
    await page.getByRole("button", { name: "Save: Table, CSV" }).click();
    await expect(page.getByRole("alert")).toHaveText("too much at once");
  });

  for (const scheme of ["light", "dark"] as const) {
    test(`axe finds nothing serious in it (${scheme})`, async ({ page, served }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(address(served, kMatrix));
      await settled(page);
      await page.keyboard.press("e");
      expect((await lookOver(page)).findings).toEqual([]);
      await page.keyboard.press("Escape");
      await expect(page.getByRole("dialog")).toHaveCount(0);
      await page.goto(address(served, "#view=overview&pattern=previous"));
      await page.getByRole("button", { name: "Paint", exact: true }).click();
      const { findings, over } = await lookOver(page);
      expect([findings, over]).toEqual([[], [0, 0]]);
    });
  }
});

for (const motion of ["no-preference", "reduce"] as const) {
  test(`a thumbnail ${motion === "reduce" ? "does not move for those who want that" : "grows into its matrix and back"}`, async ({
    page,
    served,
  }) => {
    await page.emulateMedia({ reducedMotion: motion });
    await page.addInitScript(() => {
      const seen: string[] = [];
      Object.assign(globalThis, { flights: seen });
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
          for (const node of addedNodes) if ((node as HTMLElement).dataset?.flight !== undefined) seen.push("flight");
      }).observe(document, { childList: true, subtree: true });
    });
    await page.goto(address(served));
    await settled(page);
    const flights = () => page.evaluate(() => (globalThis as unknown as { flights: string[] }).flights.length);
    const box = (await page.locator(".stage").first().boundingBox())!;
    await page.mouse.click(box.x + 60, box.y + 60);
    await expect(page).toHaveURL(/view=matrix/);
    await settled(page);
    expect(await flights()).toBe(motion === "reduce" ? 0 : 1);
    await page.keyboard.press("Escape");
    await expect(page).toHaveURL(/view=overview/);
    await settled(page);
    expect(await flights()).toBe(motion === "reduce" ? 0 : 2);
    await expect(page.locator("[data-flight]")).toHaveCount(0);
  });
}
