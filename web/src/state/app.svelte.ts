// The state of the page: URL state, current recording, messages.
import { kServerGone, type Progress, HttpError } from "../api/http";
import { oncePerFrame } from "../draw/canvas";
import { keepSelection } from "./keepSelection";
import { copyText } from "../input/clipboard";
import {
  type Facts,
  type HeadFacts,
  type HeadName,
  type Kind,
  keyOf,
  type ModelFacts,
  type RecordingName,
  type Stack,
  recordRequestOf,
  stackOf,
  type Step,
} from "../api/facts";
import { availableMeasure } from "../api/measure";
import type { LazySource } from "../api/sources/lazySource";
import { isOtherRecording, requestState, type RecordRequest, stateOfRequest } from "../api/recordRequest";
import { openEmbedded, initialHash, openServed } from "../api/openRecording";
import {
  withPinnedCell,
  withFirstHead,
  focusAt,
  fromHash,
  headAt,
  type Hover,
  kDefaultState,
  type Measure,
  type UrlState,
  roundWindow,
  type Side,
  validState,
  toHash,
  type View,
} from "./urlState";
import { kOldRecordingParameter, kRecordingParameter } from "../api/routes";
import { listModels, listRecordings, ServedSource } from "../api/sources/served";
import { transport } from "../api/transport";
import { SourceCache } from "../api/sources/sourceCache";
import type { Source, Recording } from "../api/sources/source";
import { saveDarkMode, saveLanguage, type Language, watchDarkMode, preferredLanguage } from "./preferences";
import { en, type Strings } from "../i18n/en";
import { zh } from "../i18n/zh";

export const framed = window.self !== window.top;

class App {
  urlState = $state.raw<UrlState>(kDefaultState);
  recordings = $state.raw<RecordingName[]>([]);
  recording = $state.raw<Recording | null>(null);
  models = $state.raw<ModelFacts[]>([]); // available models; empty in an offline page
  problem = $state<string | null>(null);
  rejection = $state<string | null>(null); // why the server rejected the text; the last recording stays
  progress = $state.raw<Progress | null>(null); // of the current load
  loading = $state(false); // the last recording stays until the next one is there
  stopped = $state(false); // loading was cancelled
  streamedSteps = $state.raw<Step[]>([]); // tokens generated so far
  hover = $state.raw<Hover | null>(null);
  hiddenNote = $state<string | null>(null); // what the head view does not draw
  announcement = $state(""); // for screen readers
  exportOpen = $state(false); // whether the dialog is open
  language = $state<Language>("en");
  dark = $state(false);
  loadCount = $state(0); // grows when data arrives, at most once per frame
  private readonly sourceCache = new SourceCache(
    oncePerFrame(() => ++this.loadCount),
    (problem) => this.fail(problem),
  );

  readonly strings: Strings = $derived(this.language === "zh" ? zh : en);
  readonly source: Source | null = $derived(this.recording && this.measured(this.recording));
  readonly lazySource: LazySource | null = $derived(this.source && this.sourceCache.lazySource(this.source));
  private readonly byKey: Map<string, HeadFacts> = $derived(
    new Map(this.recording?.facts.heads.map((head) => [keyOf(head), head])),
  );

  private stop = new AbortController(); // of the current load
  private pendingState: Partial<UrlState> = {}; // changes for the recording that is loading
  private openedState = kDefaultState; // the state when the current recording was opened
  private search = location.search;
  private initialHash = ""; // the hash of the first URL
  private writing = 0;
  private opening = 0;

  get facts(): Facts {
    return this.recording!.facts;
  }

  get hasServer(): boolean {
    return this.server !== null;
  }

  // The recording on the server, if there is a server.
  get server(): ServedSource | null {
    return this.recording instanceof ServedSource ? this.recording : null;
  }

  // The request of the current recording; null: from a file, or unknown.
  get recordRequest(): RecordRequest | null {
    return this.recording ? recordRequestOf(this.recording.facts) : null;
  }

  // Some views need the server, and some also the model.
  hasView(view: View): boolean {
    if (view === "overview" || view === "heads" || view === "matrix") return true;
    const { model, live } = this.server?.facts ?? {};
    return Boolean(model) && (view === "trace" || live === true);
  }

  get stack(): Stack {
    return stackOf(this.facts, this.urlState.kind);
  }

  get head(): HeadName {
    return headAt(this.urlState);
  }

  // The highlighted tokens: the hovered one, else the pinned ones.
  get focus(): { side: Side; tokens: number[] } | null {
    return focusAt(this.urlState, this.hover);
  }

  // The exact rows (or columns) of some tokens, summed; undefined until all of them are loaded.
  summedWeights(head: HeadName, side: Side, tokens: number[]): Float32Array | undefined {
    void this.loadCount;
    return this.lazySource?.summed(head, side, tokens);
  }

  // Fetched once: the overview draws them, the matrix takes a head's maximum from them.
  thumbnails(kind: Kind): Promise<Uint8Array> {
    return this.sourceCache.thumbnails(this.recording!, kind);
  }

  // The recording with the chosen measure.
  private measured(recording: Recording): Source {
    const measure = this.measureOf(recording.facts);
    const { view, withoutSinks } = this.urlState;
    return this.sourceCache.withMeasure(
      recording,
      measure,
      withoutSinks && measure === "raw" && (view === "heads" || view === "matrix"),
    );
  }

  // Only the matrix view offers other measures than weights.
  private measureOf(facts: Facts): Measure {
    const { view, measure, kind } = this.urlState;
    return view === "matrix" ? availableMeasure(measure, facts, stackOf(facts, kind)) : "raw";
  }

  get measure(): Measure {
    return this.measureOf(this.facts);
  }

  // Whether the current view leaves sinks out.
  get withoutSinks(): boolean {
    const { view, withoutSinks } = this.urlState;
    return withoutSinks && (view === "heads" || (view === "matrix" && this.measure === "raw"));
  }

  // The type of a head in the current language.
  typeName(type: { name: string } | undefined): string {
    return type ? (this.strings.types[type.name] ?? type.name) : this.strings.noType;
  }

  // "layer 5 · head 0 · previous token 0.81"
  title(head: HeadName): string {
    const type = this.factsOf(head)?.types[0];
    const parts = [this.strings.layerHead(head.layer, head.head), this.typeName(type)];
    return parts.join(" · ") + (type ? ` ${type.score.toFixed(2)}` : "");
  }

  // Self-attention of a model with a decoder is called "encoder".
  kindName(kind: Kind): string {
    const translates = this.facts.stacks.some((stack) => stack.kind === "cross");
    return kind === "self" && translates ? this.strings.encoder : this.strings.kinds[kind];
  }

  // "layer 3 of 12"
  progressText(progress: Progress | null): string | null {
    const { howFar, whats } = this.strings.text;
    return progress && howFar(whats[progress.what] ?? progress.what, progress.done, progress.total);
  }

  factsOf(head: HeadName): HeadFacts | undefined {
    return this.byKey.get(keyOf(head));
  }

  // Applies the stored or preferred language and theme.
  applyPreferences(): void {
    this.language = preferredLanguage();
    watchDarkMode((dark) => (this.dark = dark));
  }

  async start(): Promise<void> {
    this.applyPreferences();
    this.initialHash = initialHash();
    this.urlState = fromHash(this.initialHash);
    addEventListener("popstate", () => this.restoreFromUrl());
    await this.open();
  }

  // Opens the recording that the URL names, else the first of the server. The last recording
  // stays until then.
  async open(): Promise<void> {
    const turn = ++this.opening;
    this.stop.abort();
    this.stop = new AbortController();
    this.problem = this.rejection = this.progress = null;
    this.stopped = false;
    this.streamedSteps = [];
    this.loading = true;
    try {
      const source = await this.loadRecording(this.stop.signal);
      if (source && this.recording)
        await this.sourceCache.prefetch(this.measured(source), this.measured(this.recording), this.urlState.kind);
      if (turn !== this.opening) return;
      this.showRecording(source);
    } catch (problem) {
      if (turn === this.opening) this.reject(problem as Error);
    }
    if (turn !== this.opening) return;
    this.loading = false;
    this.progress = null;
  }

  private async loadRecording(signal: AbortSignal): Promise<Recording | null> {
    const inside = await openEmbedded();
    if (inside) return inside;
    const on = {
      progress: (progress: Progress) => !signal.aborted && (this.progress = progress),
      token: (step: Step) => !signal.aborted && (this.streamedSteps = [...this.streamedSteps, step]),
    };
    if (!this.recordings.length) this.recordings = await listRecordings();
    const known = (all: ModelFacts[]) => (this.models = all);
    if (!this.models.length) listModels().then(known, () => undefined); // without models nothing can be edited
    this.search = location.search;
    const parameters = new URLSearchParams(this.search);
    const asked = this.chosenId || (parameters.get(kRecordingParameter) ?? parameters.get(kOldRecordingParameter));
    const first = transport.first ? "" : this.recordings[0]?.id;
    return openServed(this.urlState, asked || first || "", signal, on);
  }
  // A recording that the URL does not name: chosen in a frame, or opened from a file.
  private chosenId = "";
  private readonly ownIds = new Set<string>(); // from files

  private showRecording(source: Recording | null): void {
    const before = this.recording?.facts;
    const state = before && source ? keepSelection(this.urlState, before, source.facts) : this.urlState;
    this.recording = source;
    this.hover = null;
    this.urlState = this.completeState({ ...state, ...this.pendingState });
    this.pendingState = {};
    this.openedState = this.urlState;
    if (before) this.write(false);
  }

  // Shows a rejected text beside the field, as long as another recording is shown.
  private reject(problem: Error): void {
    if (this.recording && problem instanceof HttpError && problem.status < 500) this.rejection = problem.message;
    else this.fail(problem);
  }

  // Stops loading and keeps the current recording.
  cancel(): void {
    if (!this.loading) return;
    ++this.opening;
    this.stop.abort();
    this.loading = false;
    this.progress = null;
    this.pendingState = {};
    this.stopped = true;
    if (!this.recording) return;
    const { words } = this.openedState;
    this.urlState = { ...this.urlState, ...requestState(this.openedState), words };
    this.write(false);
  }

  // Opens another recording, or the same under other conditions.
  openRequest(request: RecordRequest, patch: Partial<UrlState> = {}, push = true): void {
    this.navigate({ ...stateOfRequest(request), ...patch }, push);
  }

  // The first URL may name no head: it gets the recommended one.
  private completeState(state: UrlState): UrlState {
    const first = !this.hasVisited;
    this.hasVisited = true;
    if (!this.recording) return state;
    return validState(
      first ? withFirstHead(state, this.initialHash, this.recording.facts) : state,
      this.recording.facts,
    );
  }
  private hasVisited = false;

  navigate(patch: Partial<UrlState>, push = false): void {
    const before = this.urlState;
    const next = { ...this.urlState, ...withPinnedCell(this.urlState, patch), ...patch };
    if (patch.window) next.window = roundWindow(patch.window);
    const elsewhere = patch.kind !== undefined && patch.kind !== this.urlState.kind;
    if (elsewhere)
      Object.assign(next, { layer: 0, head: 0, others: [], pins: [], row: null, column: null, window: null }, patch);
    const other = isOtherRecording(before, next);
    if (other) this.pendingState = { ...this.pendingState, ...patch };
    else for (const key of Object.keys(patch)) delete this.pendingState[key as keyof UrlState];
    this.urlState = this.recording ? validState(next, this.recording.facts) : next;
    this.write(push);
    if (other) void this.open();
  }

  // A page in a frame does not change the history of its parent.
  private write(push: boolean): void {
    clearTimeout(this.writing);
    const hash = toHash({ ...this.urlState, ...this.pendingState });
    const own = this.chosenId && { own: this.chosenId };
    if (push && !framed) history.pushState(own, "", hash);
    else this.writing = window.setTimeout(() => !framed && history.replaceState(own, "", hash), 120);
  }

  private restoreFromUrl(): void {
    clearTimeout(this.writing);
    const before = this.urlState;
    const next = fromHash(location.hash);
    const own = (history.state as { own?: string } | null)?.own ?? "";
    const chosen = framed ? this.chosenId : this.ownIds.has(own) ? own : "";
    const other = isOtherRecording(before, next) || location.search !== this.search || chosen !== this.chosenId;
    this.chosenId = chosen;
    this.pendingState = other ? next : {};
    this.urlState = this.recording ? validState(next, this.recording.facts) : next;
    this.hover = null;
    if (other) void this.open();
  }

  // `own`: from a file of the user's.
  switchRecording(id: string, own = this.ownIds.has(id)): void {
    if (own) this.ownIds.add(id);
    this.chosenId = own || framed ? id : "";
    this.hover = null;
    this.hasVisited = false;
    this.initialHash = "";
    const { view, map, fit, words } = this.urlState;
    this.urlState = { ...kDefaultState, view, map, fit, words };
    const query = own ? "" : `?${kRecordingParameter}=${encodeURIComponent(id)}`;
    if (!framed) history.pushState(own && { own: id }, "", query + toHash(this.urlState));
    void this.open();
  }

  // Clears pins and the current cell, else goes one view up.
  back(): void {
    const { pins, row, column, view, step } = this.urlState;
    if (view === "text" && step !== null) this.navigate({ step: null, row: null, pins: [] });
    else if (pins.length) this.navigate({ pins: [] });
    else if ((view === "matrix" || view === "compare") && (row !== null || column !== null))
      this.navigate({ row: null, column: null });
    else if (view === "trace") this.navigate({ view: "matrix" }, true);
    else if (view !== "overview") this.navigate({ view: "overview" }, true);
  }

  step(what: "head" | "layer", by: number): void {
    const { layers, heads } = this.stack;
    const all = what === "head" ? heads : layers;
    this.navigate({ [what]: (this.urlState[what] + by + all) % all });
    this.announce(this.strings.layerHead(this.urlState.layer, this.urlState.head));
  }

  announce(text: string): void {
    this.announcement = text;
  }

  async copy(text: string): Promise<void> {
    await copyText(text);
    this.announce(this.strings.copied);
  }

  setLanguage(language: Language): void {
    this.language = language;
    saveLanguage(language);
  }

  setDark(dark: boolean): void {
    this.dark = dark;
    saveDarkMode(dark);
  }

  fail(problem: Error): void {
    if (problem.message === "left out") return; // the view shows that itself
    this.problem = problem.message === kServerGone ? kServerGone : this.strings.failed(problem.message);
  }
}

export const app = new App();
