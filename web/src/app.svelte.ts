// The state of the page: where the reader is, what is looked at, and what has been said.
import { AsideSource } from "./core/aside";
import { onceAFrame } from "./core/canvas";
import { EmbeddedSource, unpack } from "./core/embedded";
import {
  type Facts,
  type HeadFacts,
  type HeadName,
  type Kind,
  keyOf,
  type SpecimenName,
  type Stack,
  stackOf,
} from "./core/facts";
import { Numbers } from "./core/numbers";
import { fromHash, headAt, kStart, type Place, rounded, type Side, sound, toHash } from "./core/place";
import { ServedSource, specimens } from "./core/served";
import type { Source } from "./core/source";
import { remembered, remember } from "./core/memory";
import { en, type Words } from "./words/en";
import { zh } from "./words/zh";

export interface Hover {
  head?: HeadName;
  row?: number | null;
  column?: number | null;
}

const kData = "attnscope-data"; // the element of an offline page that holds what a server would answer

export const framed = window.self !== window.top;

class App {
  place = $state.raw<Place>(kStart);
  specimens = $state.raw<SpecimenName[]>([]);
  whole = $state.raw<Source | null>(null);
  problem = $state<string | null>(null);
  hover = $state.raw<Hover | null>(null);
  hidden = $state<string | null>(null); // what the head view does not draw, in words
  said = $state(""); // for those who listen
  copied = $state(false);
  language = $state<"en" | "zh">("en");
  dark = $state(false);
  arrived = $state(0); // grows when numbers have come, at most once a frame
  private readonly came = onceAFrame(() => ++this.arrived);

  readonly words: Words = $derived(this.language === "zh" ? zh : en);
  readonly source: Source | null = $derived(this.whole && this.place.aside ? new AsideSource(this.whole) : this.whole);
  readonly numbers: Numbers | null = $derived(
    this.source && new Numbers(this.source, this.came, (problem) => this.fail(problem)),
  );
  private readonly byKey: Map<string, HeadFacts> = $derived(
    new Map(this.whole?.facts.heads.map((head) => [keyOf(head), head])),
  );

  private id = "";
  private began = ""; // with which address, behind #
  private writing = 0;
  private opening = 0;

  get facts(): Facts {
    return this.whole!.facts;
  }

  get stack(): Stack {
    return stackOf(this.facts, this.place.kind);
  }

  get head(): HeadName {
    return headAt(this.place);
  }

  // Tokens whose lines are looked at: the one under the pointer, else those that are pinned.
  get focus(): { side: Side; tokens: number[] } | null {
    const { row, column } = this.hover ?? {};
    if (row != null) return { side: "query", tokens: [row] };
    if (column != null) return { side: "key", tokens: [column] };
    return this.place.pins.length ? { side: this.place.side, tokens: this.place.pins } : null;
  }

  // The exact rows (or columns) of some tokens, added up; undefined until all of them are there.
  added(head: HeadName, side: Side, tokens: number[]): Float32Array | undefined {
    void this.arrived;
    const parts = tokens.map((t) => (side === "query" ? this.numbers?.row(head, t) : this.numbers?.column(head, t)));
    if (parts.length === 1) return parts[0];
    if (parts.includes(undefined)) return undefined;
    const sum = new Float32Array(parts[0]!.length);
    for (const part of parts) part!.forEach((w, j) => (sum[j] += w));
    return sum;
  }

  // Asked for once: the overview shows them, and the matrix takes a head's largest weight from them.
  thumbnails(kind: Kind): Promise<Uint8Array> {
    const source = this.whole!;
    if (this.pictures.source !== source) this.pictures = { source, kinds: new Map() };
    let bytes = this.pictures.kinds.get(kind);
    if (!bytes) {
      bytes = source.thumbnails(kind);
      this.pictures.kinds.set(kind, bytes);
      bytes.catch(() => this.pictures.kinds.delete(kind));
    }
    return bytes;
  }
  private pictures: { source: Source | null; kinds: Map<Kind, Promise<Uint8Array>> } = {
    source: null,
    kinds: new Map(),
  };

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

  async start(): Promise<void> {
    this.language =
      remembered("language") === "zh" || (!remembered("language") && /^zh/i.test(navigator.language)) ? "zh" : "en";
    const system = matchMedia("(prefers-color-scheme: dark)");
    this.dark = remembered("theme") ? remembered("theme") === "dark" : system.matches;
    system.addEventListener("change", () => {
      if (!remembered("theme")) this.dark = system.matches;
    });
    this.began = location.hash || "#" + (document.getElementById(kData)?.dataset.state ?? "");
    this.place = fromHash(this.began);
    addEventListener("popstate", () => this.arrive());
    await this.open();
  }

  // Reads the specimen that the address names, else the first one.
  async open(): Promise<void> {
    const turn = ++this.opening;
    this.problem = null;
    try {
      const source = await this.read();
      if (turn !== this.opening) return;
      this.whole = source;
      this.place = this.settled(this.place);
    } catch (problem) {
      if (turn === this.opening) this.fail(problem as Error);
    }
  }

  private async read(): Promise<Source | null> {
    const data = document.getElementById(kData)?.textContent;
    if (data) return new EmbeddedSource(await unpack(data));
    this.specimens = await specimens();
    const asked = new URLSearchParams(location.search).get("specimen");
    this.id = this.id || asked || this.specimens[0]?.id || "";
    return this.id ? ServedSource.open(this.id, this.place.words) : null;
  }

  // A first visit has no head in the address: it gets the one that is worth looking at.
  private settled(place: Place): Place {
    const look = this.whole?.facts.look_at;
    const named = /[#&](layer|head|kind)=/.test(this.began);
    const chosen =
      look && !named && !this.visited ? { ...place, kind: look.kind, layer: look.layer, head: look.head } : place;
    this.visited = true;
    return this.whole ? sound(chosen, this.whole.facts) : place;
  }
  private visited = false;

  go(patch: Partial<Place>, push = false): void {
    const words = this.place.words;
    const next = { ...this.place, ...patch };
    if (patch.window) next.window = rounded(patch.window);
    const elsewhere = patch.kind !== undefined && patch.kind !== this.place.kind;
    if (elsewhere)
      Object.assign(next, { layer: 0, head: 0, others: [], pins: [], row: null, column: null, window: null }, patch);
    this.place = this.whole ? sound(next, this.whole.facts) : next;
    this.write(push);
    if (this.place.words !== words) this.reopen();
  }

  private reopen(): void {
    this.place = { ...this.place, pins: [], row: null, column: null, window: null };
    this.hover = null;
    void this.open();
  }

  // A page inside another one leaves that one's history alone.
  private write(push: boolean): void {
    clearTimeout(this.writing);
    const hash = toHash(this.place);
    if (push && !framed) history.pushState(null, "", hash);
    else this.writing = window.setTimeout(() => !framed && history.replaceState(null, "", hash), 120);
  }

  private arrive(): void {
    const words = this.place.words;
    const next = fromHash(location.hash);
    this.place = this.whole ? sound(next, this.whole.facts) : next;
    this.hover = null;
    if (this.place.words !== words) this.reopen();
  }

  change(id: string): void {
    this.id = id;
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
    const { pins, row, column, view } = this.place;
    if (pins.length) this.go({ pins: [] });
    else if (view === "matrix" && (row !== null || column !== null)) this.go({ row: null, column: null });
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
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copyByHand(text);
    }
    this.copied = true;
    this.say(this.words.copied);
    setTimeout(() => (this.copied = false), 1200);
  }

  setLanguage(language: "en" | "zh"): void {
    this.language = language;
    remember("language", language);
  }

  setDark(dark: boolean): void {
    this.dark = dark;
    remember("theme", dark ? "dark" : "light");
  }

  fail(problem: Error): void {
    if (problem.message === "left out") return; // the view says so itself
    this.problem = problem.message === "gone" ? "gone" : this.words.failed(problem.message);
  }
}

// Where the clipboard may not be written: pages inside others, and those without https.
function copyByHand(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export const app = new App();
