// Files of the user's: the state of opening one, and what has been opened.
import { HttpError, kServerGone, type Progress, requestStream } from "../api/http";
import { type RecordRequest, requestAt } from "../api/recordRequest";
import { openFilesUrl } from "../api/routes";
import { listModels, listRecordings } from "../api/sources/served";
import { transport } from "../api/transport";
import { type OwnFile, type OwnProblem, type OwnThing, thingOf } from "../input/ownFiles";
import { withModel } from "../input/textEditing";
import { en, zh } from "../i18n/files";
import { formatBytes } from "../i18n/format";
import { app } from "./app.svelte";

const kText = "The cat sat on the mat."; // where nothing else is shown

type Opened = { kind: "recording"; id: string } | { kind: "model"; model: string };

class OwnFiles {
  dialogOpen = $state(false);
  opening = $state.raw<{ name: string; text: string; share: number | null } | null>(null);
  problem = $state<string | null>(null);
  private readonly folders: { folder: string; bytes: number }[] = []; // of models, the oldest first
  private stopping = new AbortController();
  private count = 0;

  // Not among those of the page, so that an offline page need not have them.
  get strings(): typeof en {
    return app.language === "zh" ? zh : en;
  }

  async open(all: OwnFile[]): Promise<void> {
    this.dialogOpen = false;
    this.cancel();
    this.problem = null;
    const thing = thingOf(all, transport.mostBytes);
    if (typeof thing === "string") return this.refuse(thing, all);
    const { signal } = (this.stopping = new AbortController());
    this.say(thing, this.strings.opening(thing.name), null);
    try {
      const opened = await this.put(thing, signal);
      if (!signal.aborted) await this.show(opened, thing);
    } catch (problem) {
      if (!signal.aborted) this.fail(thing, problem as Error);
    }
    if (!signal.aborted) this.opening = null;
  }

  cancel(): void {
    this.stopping.abort();
    this.opening = null;
  }

  private async put(thing: OwnThing, signal: AbortSignal): Promise<Opened> {
    const folder = this.nextFolder();
    if (thing.kind === "model") this.makeRoom(folder, thing.bytes);
    const total = thing.files.reduce((sum, { file }) => sum + file.size, 0);
    let before = 0;
    for (const { name, file } of thing.files) {
      const progress = (bytes: number) => {
        const done = before + bytes;
        const text = this.strings.reading(name, formatBytes(done), formatBytes(total));
        if (!signal.aborted) this.say(thing, text, total ? done / total : null);
      };
      await transport.putFile(folder, name, file, { signal, progress });
      before += file.size;
    }
    this.say(thing, this.strings.opening(thing.name), null);
    const on = {
      progress: ({ done, total: all }: Progress) => this.say(thing, this.strings.opening(thing.name), done / all),
    };
    try {
      return await requestStream<Opened>(openFilesUrl(folder), { body: { name: thing.name }, signal, on });
    } catch (problem) {
      transport.dropFolder(folder);
      throw problem;
    }
  }

  // Pages of one server share its folders, so that a number of one's own must be unlikely.
  private nextFolder(): string {
    return String(transport.mostBytes === null ? 1 + Math.floor(Math.random() * 999_999_999) : ++this.count);
  }

  // Models of the user's share the memory of the page: the oldest ones go.
  private makeRoom(folder: string, bytes: number): void {
    const most = transport.mostBytes ?? Infinity;
    const used = () => this.folders.reduce((sum, one) => sum + one.bytes, bytes);
    while (this.folders.length && used() > most) transport.dropFolder(this.folders.shift()!.folder);
    this.folders.push({ folder, bytes });
  }

  private async show(opened: Opened, thing: OwnThing): Promise<void> {
    if (opened.kind === "recording") {
      app.recordings = await listRecordings();
      app.switchRecording(opened.id, true);
    } else {
      app.models = await listModels();
      const model = app.models.find(({ name }) => name === opened.model)!;
      app.openRequest({ ...withModel(this.currentRequest, model), mask: null });
    }
    app.announce(this.strings.opened(thing.name));
  }

  // The text that is shown, for a model to read.
  get currentRequest(): RecordRequest {
    const text = app.recording?.facts.text || transport.first?.text || kText;
    return requestAt(app.urlState) ?? app.recordRequest ?? { model: "", text };
  }

  private say({ name }: OwnThing, text: string, share: number | null): void {
    this.opening = { name, text, share };
  }

  private refuse(problem: OwnProblem, all: OwnFile[]): void {
    const bytes = all.reduce((sum, { file }) => sum + file.size, 0);
    const most = transport.mostBytes ?? 0;
    this.problem = this.strings.problems[problem](all[0]?.path ?? "", formatBytes(bytes), formatBytes(most));
  }

  private fail({ name }: OwnThing, problem: Error): void {
    const why = problem.message === kServerGone ? app.strings.gone : problem.message;
    this.problem =
      problem instanceof HttpError && problem.status >= 500 ? why : this.strings.problems.failed(name, why);
  }
}

export const ownFiles = /* @__PURE__ */ new OwnFiles(); // not part of an offline page
