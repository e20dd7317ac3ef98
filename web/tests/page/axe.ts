// What axe finds on a page that is serious.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { address, expect, settled, test } from "./program";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  id: string;
  impact: string | null;
  nodes: { target: unknown[] }[];
}

// By the debugger's own door: the page allows no script but its own.
export async function findings(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const result = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run: (how: object) => Promise<{ violations: Finding[] }> } }).axe.run({
      resultTypes: ["violations"], // of what is right it need not say where it is
    }),
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

const kScreens = [
  ["a screen", 1280, "light"],
  ["a screen in the dark", 1280, "dark"],
  ["a phone", 360, "light"],
] as const;

// Tests that nothing is wrong with these places of the page, on each kind of screen. `ready`: when what is looked at is
// there.
export function testLooks(what: string, places: string[], ready: (page: Page) => Promise<unknown> = settled): void {
  for (const [name, width, scheme] of kScreens) {
    test.describe(`${what} on ${name}`, () => {
      test.use({ viewport: { width, height: 760 }, colorScheme: scheme });

      for (const place of places) {
        test(`axe finds nothing serious at ${place.slice(0, 80)}, and nothing sticks out`, async ({ page, served }) => {
          await page.goto(address(served, place));
          await ready(page);
          const { findings: found, over, nodes } = await lookOver(page);
          expect(found).toEqual([]);
          expect(over).toEqual([0, 0]);
          expect(nodes).toBeLessThan(3000);
        });
      }
    });
  }
}
