// The host of attnscope.wasm: instantiates it, passes requests in and collects what it answers.
import type { FileTree } from "./files";
import { estimatedWidth, type TextWidth } from "./textWidth";
import { Wasi } from "./wasi";

export interface AnswerHead {
  status: number;
  headers: [name: string, value: string][];
}

// Where an answer goes, while the call runs.
export interface AnswerSink {
  head(head: AnswerHead): void;
  write(bytes: Uint8Array<ArrayBuffer>): void; // the next part of the body
  event(name: string, json: string): void; // progress and tokens before the answer
}

export interface StartOptions {
  memory: number; // bytes for recordings
  cache: number; // bytes
  models: string[]; // folders below /models
  first_id?: number; // the number of the first recording
}

export interface HostRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  events: boolean;
}

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  attn_allocate(bytes: number): number;
  attn_free(pointer: number): void;
  attn_start(json: number, length: number): void;
  attn_request(json: number, length: number, body: number, bodyLength: number): void;
}

// The memory of a page is at its end: 4 GB, or less if the machine has less.
export class OutOfMemory extends Error {}

export class Host {
  private sink: AnswerSink | null = null;

  private constructor(private readonly exports: Exports) {}

  static async create(
    module: WebAssembly.Module,
    files: FileTree,
    textWidth: TextWidth = estimatedWidth,
  ): Promise<Host> {
    const wasi = new Wasi(files);
    let host: Host | null = null;
    // Addresses above 2 GB arrive as negative numbers. The buffer is another one after the memory has grown.
    const bytes = (start: number, length: number) =>
      new Uint8Array(host!.exports.memory.buffer, start >>> 0, length >>> 0);
    const text = (start: number, length: number) => new TextDecoder().decode(bytes(start, length));
    const own: Record<string, unknown> = {
      head: (json: number, length: number) => host!.sink!.head(JSON.parse(text(json, length)) as AnswerHead),
      write: (start: number, length: number) => host!.sink!.write(bytes(start, length).slice()),
      event: (name: number, nameLength: number, json: number, length: number) =>
        host!.sink!.event(text(name, nameLength), text(json, length)),
      text_width: (start: number, length: number, size: number, bold: number) =>
        textWidth(text(start, length), size, bold !== 0),
    };
    const imports: Record<string, Record<string, unknown>> = { host: own, wasi_snapshot_preview1: {} };
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      if (from === "wasi_snapshot_preview1") imports[from][name] = wasi.import(name);
    const instance = await WebAssembly.instantiate(module, imports as WebAssembly.Imports);
    host = new Host(instance.exports as unknown as Exports);
    wasi.memory = host.exports.memory;
    host.exports._initialize();
    return host;
  }

  start(options: StartOptions, sink: AnswerSink): void {
    this.call(sink, [encode(options)], ([json]) => this.exports.attn_start(json.start, json.length));
  }

  request(request: HostRequest, body: Uint8Array, sink: AnswerSink): void {
    this.call(sink, [encode(request), body], ([json, given]) =>
      this.exports.attn_request(json.start, json.length, given.start, given.length),
    );
  }

  // Copies the arguments in for the time of the call.
  private call(
    sink: AnswerSink,
    inputs: Uint8Array[],
    run: (places: { start: number; length: number }[]) => void,
  ): void {
    const places = inputs.map((bytes) => {
      const start = this.exports.attn_allocate(bytes.length) >>> 0;
      if (start === 0) throw new OutOfMemory("out of memory");
      new Uint8Array(this.exports.memory.buffer, start, bytes.length).set(bytes);
      return { start, length: bytes.length };
    });
    this.sink = sink;
    run(places);
    this.sink = null;
    for (const { start } of places) this.exports.attn_free(start);
  }
}

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
