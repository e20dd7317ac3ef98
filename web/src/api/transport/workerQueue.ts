// Requests to the Worker, one at a time. A Worker that computes hears nothing, so work that nobody waits for is stopped
// by ending the Worker and starting another with the same module and files; so is a Worker that has crashed.
import type { VirtualFile } from "../../worker/files";
import type { AnswerHead, HostRequest, StartOptions } from "../../worker/host";
import type { FromWorker, ToWorker } from "../../worker/messages";
import type { Carried } from "./carried";

export type Failure = "crashed" | "outOfMemory" | "noWorker" | "noModule" | "notFetched";

export interface Job {
  request: HostRequest;
  body: string;
  models: string[]; // whose files must be there
  grace: number; // ms that it may go on after nobody waits for it
  onEvent(name: string, json: string): void;
  onPart(head: AnswerHead | null, bytes: Uint8Array<ArrayBuffer>): void;
  onEnd(head: AnswerHead | null, bytes: Uint8Array<ArrayBuffer>): void;
  onFailure(failure: Failure): void;
}

// Thrown where a page cannot have a Worker, or not with this module.
export class StartError extends Error {
  constructor(
    readonly failure: Failure,
    cause: unknown,
  ) {
    super(failure, { cause });
  }
}

const kMemory = 1 << 30; // bytes for recordings, of the 4 GB that a module can have
const kCache = 64 << 20;
const kIdle = 500; // ms without a request

interface StartedWorker {
  worker: Worker;
  started: Promise<void>;
  end(): void;
}

export class WorkerQueue {
  private readonly files = new Map<string, VirtualFile>();
  private readonly queue: Job[] = [];
  private running: Job | null = null;
  private abandoned: Job | null = null; // runs, but nobody waits for it
  private current: StartedWorker | null = null;
  private module: Promise<WebAssembly.Module> | null = null;
  private carriedFiles: Promise<void> | null = null;
  private posted = 0; // requests so far: their ids
  private restarts = 0;
  firstId = 1; // above the numbers of all recordings so far
  // Requests that each new Worker gets before others, so that it has what the last one had.
  readonly replayed = new Map<string, Pick<Job, "request" | "body">>();

  constructor(
    private readonly createWorker: () => Worker,
    private readonly carried: Carried,
  ) {}

  // Starts the Worker before it is needed; rejects with a StartError.
  async start(): Promise<void> {
    await this.startedWorker();
  }

  add(job: Job): void {
    this.queue.push(job);
    void this.next();
  }

  // Nobody waits for this job any more.
  abandon(job: Job): void {
    const place = this.queue.indexOf(job);
    if (place >= 0) this.queue.splice(place, 1);
    if (this.running !== job) return;
    this.abandoned = job;
    setTimeout(() => this.running === job && this.restart(), job.grace);
  }

  addFiles(files: VirtualFile[]): void {
    for (const file of files) this.files.set(file.path, file);
    this.post({ type: "files", files });
  }

  removeFiles(prefix: string): void {
    for (const path of this.files.keys()) if (path.startsWith(prefix)) this.files.delete(path);
  }

  // Ends the Worker. The running request is sent again, unless nobody waits for it.
  restart(): void {
    ++this.restarts;
    this.current?.end();
    this.current = null;
    const { running } = this;
    this.running = null;
    if (running && running !== this.abandoned) this.queue.unshift(running);
    this.abandoned = null;
    void this.next();
  }

  private async next(): Promise<void> {
    if (this.running) return;
    const job = this.queue.shift();
    if (!job) return;
    this.running = job;
    const turn = this.restarts;
    try {
      const { worker } = await this.startedWorker();
      await this.provide(job.models);
      if (turn !== this.restarts) return; // restart() has put it back, if it is still wanted
      if (this.abandoned === job) return this.finished();
      this.send(worker, job);
    } catch (problem) {
      if (turn !== this.restarts) return;
      const failure = problem instanceof StartError ? problem.failure : "notFetched";
      if (this.abandoned !== job) job.onFailure(failure);
      this.finished();
    }
  }

  private finished(): void {
    this.running = this.abandoned = null;
    if (this.queue.length) return void this.next();
    clearTimeout(this.idle);
    this.idle = setTimeout(() => void this.provideNext(), kIdle);
  }
  private idle: ReturnType<typeof setTimeout> | undefined;

  // Unpacks a model while there is nothing else to do, so that the first request for it need not wait.
  private async provideNext(): Promise<void> {
    const next = this.carried.packedModels.find((name) => !this.provided.has(name));
    if (!next || this.running) return;
    await this.provide([next]);
    if (!this.running) this.idle = setTimeout(() => void this.provideNext(), kIdle);
  }

  private async provide(models: string[]): Promise<void> {
    const missing = models.filter((name) => this.carried.models.includes(name) && !this.provided.has(name));
    for (const name of missing) {
      this.addFiles(await this.carried.modelFiles(name));
      this.provided.add(name);
    }
  }
  private readonly provided = new Set<string>();

  private send(worker: Worker, job: Job): void {
    const id = ++this.posted;
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.type === "fetched") return void this.keepFetched(data.path, data.content);
      if (!("id" in data) || data.id !== id) return;
      const wanted = this.abandoned !== job;
      if (data.type === "event") return wanted && job.onEvent(data.name, data.json);
      if (data.type === "part") return wanted && job.onPart(data.head, data.bytes);
      if (data.type === "crashed") return this.crashed(job, data.outOfMemory ? "outOfMemory" : "crashed", data.message);
      if (data.type !== "end") return;
      if (isOutOfMemory(data.head, data.bytes)) return this.crashed(job, "outOfMemory", "out of memory");
      if (wanted) job.onEnd(data.head, data.bytes);
      this.finished();
    };
    worker.onerror = (event) => this.crashed(job, "crashed", event.message);
    this.post({ type: "request", id, request: job.request, body: job.body });
  }

  // The job fails, the others go on with another Worker.
  private crashed(job: Job, failure: Failure, message: string): void {
    console.warn(`attnscope.wasm: ${message}`);
    if (this.abandoned !== job) job.onFailure(failure);
    this.abandoned = job;
    this.restart();
  }

  private keepFetched(path: string, content: Blob): void {
    this.files.set(path, { path, size: content.size, content });
  }

  private post(message: ToWorker): void {
    this.current?.worker.postMessage(message);
  }

  // ---- starting ----

  private async startedWorker(): Promise<StartedWorker> {
    const compiling = (this.module ??= this.compiled());
    compiling.catch(() => undefined); // while the files are waited for
    this.carriedFiles ??= this.carried.files().then((files) => this.addFiles(files));
    try {
      await this.carriedFiles;
    } catch (problem) {
      this.carriedFiles = null;
      throw new StartError("notFetched", problem);
    }
    const module = await compiling;
    this.current ??= this.create(module);
    const { current } = this;
    await current.started;
    return current;
  }

  private async compiled(): Promise<WebAssembly.Module> {
    try {
      return await this.carried.module();
    } catch (problem) {
      this.module = null;
      throw new StartError("noModule", problem);
    }
  }

  private create(module: WebAssembly.Module): StartedWorker {
    let worker: Worker;
    try {
      worker = this.createWorker();
    } catch (problem) {
      throw new StartError("noWorker", problem);
    }
    let fail: (problem: Error) => void = () => undefined;
    const started = new Promise<void>((done, failed) => {
      fail = failed;
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if (data.type === "crashed")
          failed(new StartError(data.outOfMemory ? "outOfMemory" : "noModule", data.message));
        if (data.type === "started") void this.replay(worker).then(done);
      };
      worker.onerror = (event) => failed(new StartError("noWorker", event.message));
    });
    const options: StartOptions = {
      memory: kMemory,
      cache: kCache,
      models: this.carried.models,
      first_id: this.firstId,
    };
    const created: StartedWorker = {
      worker,
      started,
      end: () => {
        worker.terminate();
        fail(new StartError("crashed", "ended")); // for those who wait for the start
      },
    };
    started.catch(() => {
      if (this.current === created) this.current = null; // the next request tries again
    });
    worker.postMessage({ type: "start", module, files: [...this.files.values()], options } satisfies ToWorker);
    return created;
  }

  // Their answers are known; one that fails makes later requests fail by themselves.
  private async replay(worker: Worker): Promise<void> {
    for (const { request, body } of this.replayed.values()) {
      const id = ++this.posted;
      await new Promise<void>((done) => {
        worker.onmessage = ({ data }: MessageEvent<FromWorker>) =>
          "id" in data && data.id === id && (data.type === "end" || data.type === "crashed") && done();
        worker.postMessage({ type: "request", id, request, body } satisfies ToWorker);
      });
    }
  }
}

// The module has answered, but has no memory for more than that.
const isOutOfMemory = (head: AnswerHead | null, bytes: Uint8Array): boolean =>
  head?.status === 500 && new TextDecoder().decode(bytes).includes("out of memory");
