import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

// The first draws no windows, which takes three quarters of the time.
const browser = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => existsSync(path));

export default defineConfig({
  testDir: "tests/page",
  fullyParallel: true, // else one of two browsers waits while the other goes through the last file
  workers: 2, // pages mostly wait; the cores also compute what is looked at
  timeout: 30_000,
  snapshotPathTemplate: "tests/page/pictures/{arg}{ext}",
  reporter: process.env.CI ? "line" : "list",
  use: {
    reuseContext: true, // a page costs more than most of what is done with it; storage and listeners begin anew
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
