// What axe finds on a page that is serious.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface Finding {
  id: string;
  impact: string | null;
  nodes: { target: unknown[] }[];
}

// By the debugger's own door where the page allows no script but its own.
export async function findings(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: axe }).catch(() => page.evaluate(readFileSync(axe, "utf8")));
  const result = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run: () => Promise<{ violations: Finding[] }> } }).axe.run(),
  );
  return result.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`);
}

// What is serious, by how much the page is larger than the screen, and how many nodes it has.
export async function lookOver(page: Page): Promise<{ findings: string[]; over: number[]; nodes: number }> {
  const { over, nodes } = await page.evaluate(() => ({
    over: [document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight],
    nodes: document.querySelectorAll("*").length,
  }));
  return { findings: await findings(page), over: over.map((pixels) => Math.max(0, pixels)), nodes };
}
