// The state of the course: the current lesson, the reader's inputs, and the server's answer.
import { app } from "../state/app.svelte";
import { requestJson, requestStream, kServerGone, HttpError } from "../api/http";
import { lessonAnswerUrl, lessonsUrl, lessonUrl } from "../api/routes";
import {
  changedCells,
  type Checked,
  completed,
  type Data,
  type Datum,
  fromAddress,
  type LessonName,
  type Lesson,
  type Nested,
  type Settings,
  type Source,
  sourceOf,
  toAddress,
} from "./content/lesson";
import { writeStored, readStored } from "../state/storage";
import { en, zh } from "../i18n/course";

const kQuiet = 60; // ms without a change before a request
const kMarked = 900; // ms for which changed numbers are marked
const kProgress = "course";

type Progress = Record<string, "seen" | "done">;

function storedProgress(): Progress {
  try {
    return JSON.parse(readStored(kProgress) ?? "{}") as Progress;
  } catch {
    return {};
  }
}

class Course {
  list = $state.raw<LessonName[]>([]);
  name = $state(""); // of the lesson; empty: the list is shown
  page = $state.raw<Lesson | null>(null);
  settings = $state.raw<Settings>({}); // changed settings
  data = $state.raw<Data>({}); // changed data
  problem = $state<string | null>(null); // the last error; the last page stays
  waiting = $state(false);
  changed = $state.raw(new Map<string, Set<string>>()); // changed cells, for a moment
  textsBefore = $state.raw<Map<string, string> | null>(null); // texts before the change, by step and block
  pointed = $state.raw<{ name: string; index: number[] } | null>(null);
  box = $state.raw<DOMRect | null>(null); // of that number
  hidden = $state.raw(new Set<number>()); // heads that are switched off
  heads = $state(0); // the number of heads
  progress = $state.raw<Progress>(storedProgress());
  codeLanguage = $state("C++"); // of the code

  readonly strings = $derived(app.language === "zh" ? zh : en);
  readonly source: Source | null = $derived(
    this.page && this.pointed && sourceOf(this.page.arrays, this.pointed.name, this.pointed.index),
  );
  readonly isChanged = $derived(Object.keys(this.settings).length + Object.keys(this.data).length > 0);
  readonly place = $derived(this.list.findIndex(({ name }) => name === this.name));

  private stopping = new AbortController();
  private clock = 0;
  private marks = 0;

  async start(): Promise<void> {
    addEventListener("popstate", () => this.restoreFromUrl());
    this.restoreFromUrl();
    await this.loadList();
  }

  // Loads the list of lessons in the current language, and the lesson.
  async loadList(): Promise<void> {
    const { language } = app;
    try {
      const { lessons } = await requestJson<{ lessons: LessonName[] }>(lessonsUrl(language));
      if (language !== app.language) return;
      this.list = lessons;
      this.problem = null;
    } catch (problem) {
      this.fail(problem as Error);
    }
    if (this.name) this.ask(0);
  }

  titleOf(name: string): string {
    return this.list.find((one) => one.name === name)?.title ?? name;
  }

  private restoreFromUrl(): void {
    const { name, settings } = fromAddress(location.hash);
    if (name !== this.name) this.clear(name);
    this.settings = settings;
    if (this.list.length && this.name) this.ask(0);
  }

  private clear(name: string): void {
    this.name = name;
    this.page = null;
    this.settings = {};
    this.data = {};
    this.pointed = this.problem = null;
    this.hidden = new Set();
    this.stop();
    document.querySelector("main")?.scrollTo(0, 0);
  }

  set(name: string, value: number): void {
    this.settings = { ...this.settings, [name]: value };
    history.replaceState(null, "", toAddress(this.name, this.settings));
    this.ask();
  }

  put(name: string, datum: Datum): void {
    this.data = { ...this.data, [name]: datum };
    this.ask();
  }

  // The reader's input, which may be ahead of the shown lesson.
  datum(name: string): Datum | undefined {
    return this.data[name] ?? this.page?.data[name];
  }

  // Changes one number of the lesson's data.
  putNumber(name: string, index: number[], value: number): void {
    const copy = JSON.parse(JSON.stringify(this.datum(name))) as Nested[];
    let part = copy;
    for (const i of index.slice(0, -1)) part = part[i] as Nested[];
    part[index[index.length - 1]] = value;
    this.put(name, copy);
  }

  reset(): void {
    this.settings = {};
    this.data = {};
    this.hidden = new Set();
    history.replaceState(null, "", toAddress(this.name, {}));
    this.ask(0);
  }

  private stop(): void {
    clearTimeout(this.clock);
    this.stopping.abort();
    this.waiting = false;
  }

  ask(delay = kQuiet): void {
    this.stop();
    const { signal } = (this.stopping = new AbortController());
    this.waiting = true;
    this.clock = window.setTimeout(() => void this.loadLesson(signal), delay);
  }

  private get body(): { lang: string; settings: Settings; data: Data } {
    return { lang: app.language, settings: this.settings, data: this.data };
  }

  private async loadLesson(signal: AbortSignal): Promise<void> {
    try {
      const url = lessonUrl(this.name);
      const page = await requestStream<Lesson>(url, { body: this.body, signal });
      if (signal.aborted) return;
      this.take(page);
      this.problem = null;
    } catch (problem) {
      if (signal.aborted) return;
      this.fail(problem as Error);
    }
    this.waiting = false;
  }

  private take(page: Lesson): void {
    for (const [name, array] of Object.entries(page.arrays)) page.arrays[name] = completed(array);
    const before = this.page;
    this.page = page;
    clearTimeout(this.marks);
    const isSame = before?.name === page.name && before.language === page.language;
    this.changed = isSame ? changedCells(before.arrays, page.arrays) : new Map();
    this.textsBefore = isSame ? textsOf(before) : null;
    this.marks = window.setTimeout(() => {
      this.changed = new Map();
      this.textsBefore = null;
    }, kMarked);
  }

  private fail(problem: Error): void {
    const strings = this.strings;
    if (problem.message === kServerGone) this.problem = strings.gone;
    else this.problem = problem instanceof HttpError ? strings.failed(problem.message) : problem.message;
  }

  check(step: string, question: number, answer: Nested): Promise<Checked> {
    const url = lessonAnswerUrl(this.name);
    return requestStream<Checked>(url, { body: { ...this.body, step, question, answer } });
  }

  point(name: string, index: number[], cell: Element): void {
    this.pointed = { name, index };
    this.box = cell.getBoundingClientRect();
  }

  unpoint(): void {
    this.pointed = this.box = null;
  }

  // "done" is never taken back.
  mark(how: "seen" | "done"): void {
    if (!this.name || this.progress[this.name] === "done" || this.progress[this.name] === how) return;
    this.progress = { ...this.progress, [this.name]: how };
    writeStored(kProgress, JSON.stringify(this.progress));
  }
}

const textsOf = (page: Lesson): Map<string, string> =>
  new Map(page.steps.flatMap(({ id, blocks }) => blocks.map((block, n) => [`${id}/${n}`, block.text] as const)));

export const course = new Course();
