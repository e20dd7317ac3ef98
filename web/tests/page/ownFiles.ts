// Files of the user's in a journey: chosen in the dialog, or dropped.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Page } from "@playwright/test";

const openDialog = (page: Page) => page.getByRole("button", { name: "Open a file…" }).click();

export async function chooseFiles(page: Page, ...files: string[]): Promise<void> {
  await openDialog(page);
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files…" }).click();
  await (await choosing).setFiles(files);
}

export async function chooseFolder(page: Page, folder: string): Promise<void> {
  await openDialog(page);
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose a folder…" }).click();
  await (await choosing).setFiles(folder);
}

// Drags these files over the page, and drops them unless `only` says otherwise.
export async function dropFiles(page: Page, files: { path: string; name?: string }[], only?: "drag"): Promise<void> {
  const contents = files.map(({ path, name }) => ({
    name: name ?? basename(path),
    base64: readFileSync(path).toString("base64"),
  }));
  const data = await page.evaluateHandle((all) => {
    const transfer = new DataTransfer();
    for (const { name, base64 } of all)
      transfer.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
    return transfer;
  }, contents);
  await page.dispatchEvent("body", "dragenter", { dataTransfer: data });
  await page.dispatchEvent("body", "dragover", { dataTransfer: data });
  if (!only) await page.dispatchEvent("body", "drop", { dataTransfer: data });
}
