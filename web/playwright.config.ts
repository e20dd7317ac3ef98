import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

// The headless shell comes first: it needs a quarter less time.
const browser = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => existsSync(path));

export default defineConfig({
  testDir: "tests/page",
  fullyParallel: true, // otherwise one browser idles while the other runs the last file
  workers: 2, // pages mostly wait; the cores also run the server
  timeout: 30_000,
  snapshotPathTemplate: "tests/page/pictures/{arg}{ext}",
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
