// Watches the Worker of a page without a server, from outside: its messages pass through a class that stands in for
// Worker. Tests see what is asked for, know when nothing more is on its way, and can hold or replace answers.
import type { Page } from "@playwright/test";

// What happens to the requests whose URL and body match.
export interface Rule {
  url: string; // of a regular expression
  body?: string; // the same
  times?: number; // how often it holds; always, if it is not given
  do:
    | { what: "hold" } // no answer comes
    | { what: "answer"; status: number; json: unknown }
    | { what: "events"; events: [name: string, data: unknown][] } // and no answer
    | { what: "crash" };
}

interface Watched {
  asked: { method: string; url: string; body: string }[];
  running: Set<number>;
  rules: Rule[];
  workers: number;
  ended: number;
  quietSince: number;
}

declare global {
  interface Window {
    watched?: Watched;
  }
}

// An init script, so that it can use nothing from outside.
export function watchWorkers(): void {
  if (window.watched) return;
  const RealWorker = window.Worker;
  const watched: Watched = { asked: [], running: new Set(), rules: [], workers: 0, ended: 0, quietSince: Infinity };
  window.watched = watched;
  const kStart = -1;
  const end = (id: number) => {
    watched.running.delete(id);
    watched.quietSince = performance.now();
  };
  interface Message {
    type: string;
    id: number;
    request: { method: string; path: string; query: Record<string, string> };
    body: string;
  }
  const apply = (worker: Worker, rule: Rule, { id }: Message): void => {
    const say = (data: unknown) => worker.dispatchEvent(new MessageEvent("message", { data }));
    const { do: does } = rule;
    if (does.what === "answer") {
      const head = { status: does.status, headers: [["Content-Type", "application/json"]] };
      setTimeout(() => say({ type: "end", id, head, bytes: new TextEncoder().encode(JSON.stringify(does.json)) }));
    } else if (does.what === "events")
      for (const [name, data] of does.events)
        setTimeout(() => say({ type: "event", id, name, json: JSON.stringify(data) }));
  };
  window.Worker = class extends RealWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      ++watched.workers;
      this.addEventListener("message", ({ data }: MessageEvent<Message>) => {
        if (data.type === "started") end(kStart);
        if (data.type === "end" || data.type === "crashed") end(data.id ?? kStart);
      });
    }

    override postMessage(message: Message): void {
      if (message.type === "start") watched.running.add(kStart);
      if (message.type !== "request") return super.postMessage(message);
      const { method, path, query } = message.request;
      const text = new URLSearchParams(query).toString();
      const url = path.slice(1) + (text && `?${text}`);
      watched.asked.push({ method, url, body: message.body });
      watched.running.add(message.id);
      const rule = watched.rules.find(
        (one) => one.times !== 0 && new RegExp(one.url).test(url) && new RegExp(one.body ?? "").test(message.body),
      );
      if (!rule) return super.postMessage(message);
      if (rule.times) --rule.times;
      // What JSON cannot express throws inside the Worker.
      if (rule.do.what === "crash") super.postMessage({ ...message, request: { ...message.request, method: 1n } });
      else apply(this, rule, message);
    }

    override terminate(): void {
      super.terminate();
      ++watched.ended;
      watched.running.clear();
      watched.quietSince = performance.now();
    }
  };
}

const kQuiet = 250; // ms: a model may be unpacked between two requests

// When nothing more is on its way.
export async function workerIsQuiet(page: Page): Promise<void> {
  await page.waitForFunction(
    (quiet) => {
      const { watched } = window;
      return watched && watched.running.size === 0 && performance.now() - watched.quietSince > quiet;
    },
    kQuiet,
    { polling: 50 },
  );
}

export const addRule = (page: Page, rule: Rule): Promise<unknown> =>
  page.evaluate((one) => window.watched!.rules.push(one), rule);

export const removeRules = (page: Page): Promise<unknown> => page.evaluate(() => (window.watched!.rules = []));

export const askedOfWorker = (page: Page): Promise<Watched["asked"]> => page.evaluate(() => window.watched!.asked);

export const workersOf = (page: Page): Promise<{ workers: number; ended: number }> =>
  page.evaluate(() => ({ workers: window.watched!.workers, ended: window.watched!.ended }));
