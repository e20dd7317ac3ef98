// Opens a page without a server, or says in its place why this browser cannot run it.
import { mount, unmount } from "svelte";
import { startTransport } from "../api/transport";
import { missingFeature } from "../api/transport/surroundings";
import { StartError } from "../api/transport/workerQueue";
import type { Surroundings } from "../i18n/surroundings";
import { app } from "../state/app.svelte";
import CannotRun from "./CannotRun.svelte";

export async function openWithWorker(target: HTMLElement, open: () => Promise<Record<string, unknown>>): Promise<void> {
  const missing = missingFeature();
  if (missing) return explain(target, missing);
  const starting = startTransport();
  const page = open(); // what does not depend on the Worker is drawn meanwhile
  try {
    await starting;
  } catch (problem) {
    console.warn(problem);
    await unmount(await page);
    explain(target, problem instanceof StartError ? problem.failure : "noModule");
  }
}

function explain(target: HTMLElement, why: Surroundings): void {
  app.applyPreferences();
  mount(CannotRun, { target, props: { why } });
}
