// The state of the page: where the reader is, what is looked at, and what has been said.
import { kGone, type Progress, Refused } from "../api/ask";
import { onceAFrame } from "../draw/canvas";
import { carried } from "./carry";
import { copyText } from "../input/clipboard";
import {
  type Facts,
  type HeadFacts,
  type HeadName,
  type Kind,
  keyOf,
  type ModelFacts,
  type SpecimenName,
  type Stack,
  stackOf,
  type Step,
} from "../api/facts";
import { shownMeasure } from "../api/measure";
import type { Numbers } from "../api/sources/numbers";
import { isOther, ofSpecimen, type Origin, placeOf } from "../api/origin";
import { embedded, firstHash, served } from "../api/opening";
import {
  deeper,
  firstLook,
  focusAt,
  fromHash,
  headAt,
  type Hover,
  kStart,
  type Measure,
  type Place,
  rounded,
  type Side,
  sound,
  toHash,
  type View,
} from "./place";
import { models, ServedSource, specimens } from "../api/sources/served";
import { Shelf } from "../api/sources/shelf";
import type { Source, Whole } from "../api/sources/source";
import { keepDark, keepLanguage, type Language, likedDark, likedLanguage } from "./manner";
import { en, type Words } from "../i18n/en";
import { zh } from "../i18n/zh";

export const framed = window.self !== window.top;

class App {
  place = $state.raw<Place>(kStart);
  specimens = $state.raw<SpecimenName[]>([]);
  whole = $state.raw<Whole | null>(null);
  models = $state.raw<ModelFacts[]>([]); // that texts can be read with; empty in an offline page
  problem = $state<string | null>(null);
  refused = $state<string | null>(null); // why the text that is written cannot be read; what was there stays
  progress = $state.raw<Progress | null>(null); // of what is being read
  reading = $state(false); // another specimen is on its way; what is there stays
  stopped = $state(false); // the reader did not want to wait for it
  streamed = $state.raw<Step[]>([]); // tokens that the model has written so far
  hover = $state.raw<Hover | null>(null);
  hidden = $state<string | null>(null); // what the head view does not draw, in words
  said = $state(""); // for those who listen
  exporting = $state(false); // the dialog is open
  language = $state<Language>("en");
  dark = $state(false);
  arrived = $state(0); // grows when numbers have come, at most once a frame
  private readonly shelf = new Shelf(
    onceAFrame(() => ++this.arrived),
    (problem) => this.fail(problem),
  );

  readonly words: Words = $derived(this.language === "zh" ? zh : en);
  readonly source: Source | null = $derived(this.whole && this.seen(this.whole));
  readonly numbers: Numbers | null = $derived(this.source && this.shelf.numbers(this.source));
  private readonly byKey: Map<string, HeadFacts> = $derived(
    new Map(this.whole?.facts.heads.map((head) => [keyOf(head), head])),
  );

  private stop = new AbortController(); // of what is being opened
  private fresh: Partial<Place> = {}; // what was said of the specimen that is on its way
  private opened = kStart; // the place for which the present specimen was read
  private search = location.search;
  private began = ""; // with which address, behind #
  private writing = 0;
  private opening = 0;

  get facts(): Facts {
    return this.whole!.facts;
  }

  get served(): boolean {
    return this.program !== null;
  }

  // To be asked, where there is one.
  get program(): ServedSource | null {
    return this.whole instanceof ServedSource ? this.whole : null;
  }

  // How what is looked at was made; null: from a table, or nobody knows.
  get origin(): Origin | null {
    return this.whole?.facts.origin ?? null;
  }

  // Trace, predictions and the like need the program, and some of them the model.
  can(view: View): boolean {
    if (view === "overview" || view === "heads" || view === "matrix") return true;
    const { model, live } = this.program?.facts ?? {};
    return Boolean(model) && (view === "trace" || live === true);
  }

  get stack(): Stack {
    return stackOf(this.facts, this.place.kind);
  }

  get head(): HeadName {
    return headAt(this.place);
  }

  // Tokens whose lines are looked at: the one under the pointer, else those that are pinned.
  get focus(): { side: Side; tokens: number[] } | null {
    return focusAt(this.place, this.hover);
  }

  // The exact rows (or columns) of some tokens, added up; undefined until all of them are there.
  added(head: HeadName, side: Side, tokens: number[]): Float32Array | undefined {
    void this.arrived;
    return this.numbers?.added(head, side, tokens);
  }

  // Asked for once: the overview shows them, and the matrix takes a head's largest weight from them.
  thumbnails(kind: Kind): Promise<Uint8Array> {
    return this.shelf.thumbnails(this.whole!, kind);
  }

  // As the reader wants to see it.
  private seen(whole: Whole): Source {
    const measure = this.measureOf(whole.facts);
    const { view, aside } = this.place;
    return this.shelf.seen(whole, measure, aside && measure === "raw" && (view === "heads" || view === "matrix"));
  }

  // Only the matrix shows anything but weights.
  private measureOf(facts: Facts): Measure {
    const { view, measure, kind } = this.place;
    return view === "matrix" ? shownMeasure(measure, facts, stackOf(facts, kind)) : "raw";
  }

  get measure(): Measure {
    return this.measureOf(this.facts);
  }

  // Sinks are set aside in what is shown.
  get aside(): boolean {
    const { view, aside } = this.place;
    return aside && (view === "heads" || (view === "matrix" && this.measure === "raw"));
  }

  // What a head does, in the reader's language.
  typeName(type: { name: string } | undefined): string {
    return type ? (this.words.types[type.name] ?? type.name) : this.words.noType;
  }

  // "layer 5 · head 0 · previous token 0.81"
  title(head: HeadName): string {
    const type = this.factsOf(head)?.types[0];
    const parts = [this.words.layerHead(head.layer, head.head), this.typeName(type)];
    return parts.join(" · ") + (type ? ` ${type.score.toFixed(2)}` : "");
  }

  // A model that also has a decoder calls what reads the text its encoder.
  kindName(kind: Kind): string {
    const translates = this.facts.stacks.some((stack) => stack.kind === "cross");
    return kind === "self" && translates ? this.words.encoder : this.words.kinds[kind];
  }

  factsOf(head: HeadName): HeadFacts | undefined {
    return this.byKey.get(keyOf(head));
  }

  // Language and light as the reader likes them.
  prefer(): void {
    this.language = likedLanguage();
    likedDark((dark) => (this.dark = dark));
  }

  async start(): Promise<void> {
    this.prefer();
    this.began = firstHash();
    this.place = fromHash(this.began);
    addEventListener("popstate", () => this.arrive());
    await this.open();
  }

  // Reads the specimen that the address asks for, else the one that the program was started with. What was there before
  // stays until then.
  async open(): Promise<void> {
    const turn = ++this.opening;
    this.stop.abort();
    this.stop = new AbortController();
    this.problem = this.refused = this.progress = null;
    this.stopped = false;
    this.streamed = [];
    this.reading = true;
    try {
      const source = await this.read(this.stop.signal);
      if (source && this.whole) await this.shelf.prepare(this.seen(source), this.seen(this.whole), this.place.kind);
      if (turn !== this.opening) return;
      this.take(source);
    } catch (problem) {
      if (turn === this.opening) this.refuse(problem as Error);
    }
    if (turn !== this.opening) return;
    this.reading = false;
    this.progress = null;
  }

  private async read(signal: AbortSignal): Promise<Whole | null> {
    const inside = await embedded();
    if (inside) return inside;
    const on = {
      progress: (progress: Progress) => !signal.aborted && (this.progress = progress),
      token: (step: Step) => !signal.aborted && (this.streamed = [...this.streamed, step]),
    };
    if (!this.specimens.length) this.specimens = await specimens();
    const known = (all: ModelFacts[]) => (this.models = all);
    if (!this.models.length) models().then(known, () => undefined); // without them nothing can be edited
    this.search = location.search;
    const asked = (framed && this.chosen) || new URLSearchParams(this.search).get("specimen");
    return served(this.place, asked || this.specimens[0]?.id || "", signal, on);
  }
  private chosen = ""; // among those that the program was started with, inside another page

  private take(source: Whole | null): void {
    const before = this.whole?.facts;
    const place = before && source ? carried(this.place, before, source.facts) : this.place;
    this.whole = source;
    this.hover = null;
    this.place = this.settled({ ...place, ...this.fresh });
    this.fresh = {};
    this.opened = this.place;
    if (before) this.write(false);
  }

  // What the program cannot read is said beside the text, as long as there is something else to look at.
  private refuse(problem: Error): void {
    if (this.whole && problem instanceof Refused && problem.status < 500) this.refused = problem.message;
    else this.fail(problem);
  }

  // Stops reading and stays with what is there.
  cancel(): void {
    if (!this.reading) return;
    ++this.opening;
    this.stop.abort();
    this.reading = false;
    this.progress = null;
    this.fresh = {};
    this.stopped = true;
    if (!this.whole) return;
    const { words } = this.opened;
    this.place = { ...this.place, ...ofSpecimen(this.opened), words };
    this.write(false);
  }

  // Looks at another specimen, or at the same under other conditions.
  look(origin: Origin, patch: Partial<Place> = {}, push = true): void {
    this.go({ ...placeOf(origin), ...patch }, push);
  }

  // A first visit has no head in the address: it gets the one that is worth looking at.
  private settled(place: Place): Place {
    const first = !this.visited;
    this.visited = true;
    if (!this.whole) return place;
    return sound(first ? firstLook(place, this.began, this.whole.facts) : place, this.whole.facts);
  }
  private visited = false;

  go(patch: Partial<Place>, push = false): void {
    const before = this.place;
    const next = { ...this.place, ...deeper(this.place, patch), ...patch };
    if (patch.window) next.window = rounded(patch.window);
    const elsewhere = patch.kind !== undefined && patch.kind !== this.place.kind;
    if (elsewhere)
      Object.assign(next, { layer: 0, head: 0, others: [], pins: [], row: null, column: null, window: null }, patch);
    const other = isOther(before, next);
    if (other) this.fresh = { ...this.fresh, ...patch };
    else for (const key of Object.keys(patch)) delete this.fresh[key as keyof Place];
    this.place = this.whole ? sound(next, this.whole.facts) : next;
    this.write(push);
    if (other) void this.open();
  }

  // A page inside another one leaves that one's history alone.
  private write(push: boolean): void {
    clearTimeout(this.writing);
    const hash = toHash({ ...this.place, ...this.fresh });
    if (push && !framed) history.pushState(null, "", hash);
    else this.writing = window.setTimeout(() => !framed && history.replaceState(null, "", hash), 120);
  }

  private arrive(): void {
    clearTimeout(this.writing);
    const before = this.place;
    const next = fromHash(location.hash);
    const other = isOther(before, next) || location.search !== this.search;
    this.fresh = other ? next : {};
    this.place = this.whole ? sound(next, this.whole.facts) : next;
    this.hover = null;
    if (other) void this.open();
  }

  change(id: string): void {
    this.chosen = id;
    this.hover = null;
    this.visited = false;
    this.began = "";
    const { view, map, fit, words } = this.place;
    this.place = { ...kStart, view, map, fit, words };
    if (!framed) history.pushState(null, "", `?specimen=${encodeURIComponent(id)}${toHash(this.place)}`);
    void this.open();
  }

  // Lets go of what is held, else goes one view up.
  back(): void {
    const { pins, row, column, view, step } = this.place;
    if (view === "text" && step !== null) this.go({ step: null, row: null, pins: [] });
    else if (pins.length) this.go({ pins: [] });
    else if ((view === "matrix" || view === "compare") && (row !== null || column !== null))
      this.go({ row: null, column: null });
    else if (view === "trace") this.go({ view: "matrix" }, true);
    else if (view !== "overview") this.go({ view: "overview" }, true);
  }

  step(what: "head" | "layer", by: number): void {
    const { layers, heads } = this.stack;
    const all = what === "head" ? heads : layers;
    this.go({ [what]: (this.place[what] + by + all) % all });
    this.say(this.words.layerHead(this.place.layer, this.place.head));
  }

  say(text: string): void {
    this.said = text;
  }

  async copy(text: string): Promise<void> {
    await copyText(text);
    this.say(this.words.copied);
  }

  setLanguage(language: Language): void {
    this.language = language;
    keepLanguage(language);
  }

  setDark(dark: boolean): void {
    this.dark = dark;
    keepDark(dark);
  }

  fail(problem: Error): void {
    if (problem.message === "left out") return; // the view says so itself
    this.problem = problem.message === kGone ? kGone : this.words.failed(problem.message);
  }
}

export const app = new App();
