import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";
import { missing } from "./tests/page/targets";

// The headless shell comes first: it needs a quarter less time.
const browser = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => existsSync(path));

// Said once, not by every worker.
for (const target of ["file", "site"] as const)
  if (missing(target) && !process.env.TEST_WORKER_INDEX)
    console.warn(`project ${target} is skipped: ${missing(target)}`);

export default defineConfig({
  testDir: "tests/page",
  fullyParallel: true, // otherwise one browser idles while the other runs the last file
  workers: 2, // pages mostly wait; the cores also run the server
  timeout: 30_000,
  snapshotPathTemplate: "tests/page/pictures/{arg}{ext}",
  // tests/page/targets.ts: what each of them tests
  projects: [
    { name: "server" },
    // Each page unpacks and compiles the module anew. Reloaded files do not always see what was just stored (see
    // tests/page/journeys.test.ts), so that one may be tried twice; a test that needed it is reported as flaky.
    {
      name: "file",
      retries: process.env.CI ? 1 : 0,
      timeout: 60_000,
      expect: { timeout: 15_000 },
      use: { offline: true },
    },
    { name: "site", timeout: 60_000, expect: { timeout: 15_000 } },
  ],
  reporter: process.env.CI ? "line" : "list",
  use: {
    reuseContext: true, // a new context costs more than most tests; storage and listeners are reset
    viewport: { width: 1280, height: 800 },
    locale: "en-US",
    launchOptions: {
      executablePath: browser,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
