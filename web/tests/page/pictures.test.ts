// What the canvases show, compared with kept pictures. Letters differ a little from machine to machine; cells, lines and
// colours do not. After a change that is meant: npx playwright test pictures --update-snapshots, and look at them.
import { address, expect, settled, test } from "./program";

const pictures = {
  overview: "#view=overview&layer=1&head=2",
  "overview-cividis": "#view=overview&layer=1&head=2&map=cividis&fit=1",
  lines: "#view=heads&layer=1&head=2&others=1.0,1.1",
  matrix: "#view=matrix&layer=1&head=2&row=3&column=2",
  "matrix-without-sinks": "#view=matrix&layer=2&head=0&without_sinks=1",
  "matrix-value": "#view=matrix&layer=2&head=0&measure=value",
  "matrix-rollout": "#view=matrix&layer=3&head=0&measure=rollout",
};

for (const scheme of ["light", "dark"] as const) {
  test.describe(`in the ${scheme}`, () => {
    test.use({ colorScheme: scheme });

    for (const [name, hash] of Object.entries(pictures)) {
      test(`${name} looks as it did`, async ({ page, served }) => {
        await page.goto(address(served, hash));
        await settled(page);
        await expect(page.locator(".stage").first()).toHaveScreenshot(`${name}-${scheme}.png`, {
          maxDiffPixelRatio: 0.04,
          threshold: 0.25,
          animations: "disabled",
        });
      });
    }
  });
}

const made = {
  compare:
    "#view=compare&model=tiny-bert&text=The film was great.&modelB=tiny-bert&textB=The film was weak.&layer=2&head=0",
  masks: "#view=masks&draft=window(2)",
};

for (const [name, hash] of Object.entries(made)) {
  test(`${name} looks as it did`, async ({ page, served }) => {
    await page.goto(address(served, hash));
    await settled(page);
    await expect(page.locator(".stage").first()).toHaveScreenshot(`${name}.png`, {
      maxDiffPixelRatio: 0.04,
      threshold: 0.25,
      animations: "disabled",
    });
  });
}
