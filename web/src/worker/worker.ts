// The Worker that runs attnscope.wasm: takes requests and posts what it answers.
import { FileTree, type VirtualFile } from "./files";
import { type AnswerHead, type AnswerSink, Host, type HostRequest, OutOfMemory, type StartOptions } from "./host";
import type { FromWorker, ToWorker } from "./messages";
import { canvasTextWidth } from "./textWidth";

const kPart = 1 << 20; // bytes: a longer body is posted in parts

const post = (message: FromWorker, moved: Transferable[] = []): void =>
  (postMessage as (message: unknown, moved: Transferable[]) => void)(message, moved);

const tree = new FileTree(undefined, (path, content) => post({ type: "fetched", path, content }));
let host: Host | null = null;

// Collects the body of an answer, and posts it in parts that are not too small.
class PostedAnswer implements AnswerSink {
  private first: AnswerHead | null = null;
  private parts: Uint8Array<ArrayBuffer>[] = [];
  private bytes = 0;

  constructor(private readonly id: number) {}

  head(head: AnswerHead): void {
    this.first = head;
  }

  write(bytes: Uint8Array<ArrayBuffer>): void {
    this.parts.push(bytes);
    this.bytes += bytes.length;
    if (this.bytes >= kPart) this.flush("part");
  }

  event(name: string, json: string): void {
    post({ type: "event", id: this.id, name, json });
  }

  flush(type: "part" | "end"): void {
    const bytes = this.parts.length === 1 ? this.parts[0] : joined(this.parts, this.bytes);
    post({ type, id: this.id, head: this.first, bytes }, [bytes.buffer]);
    this.first = null;
    this.parts = [];
    this.bytes = 0;
  }
}

function joined(parts: Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

// A start that is refused says why in its body.
async function start(module: WebAssembly.Module, files: VirtualFile[], options: StartOptions): Promise<void> {
  files.forEach((file) => tree.add(file));
  host = await Host.create(module, tree, canvasTextWidth());
  let status = 0;
  let said = "";
  host.start(options, {
    head: (head) => (status = head.status),
    write: (bytes) => (said += new TextDecoder().decode(bytes)),
    event: () => undefined,
  });
  if (status !== 200) throw new Error(said);
  post({ type: "started" });
}

function answer(id: number, request: HostRequest, body: string): void {
  const posted = new PostedAnswer(id);
  host!.request(request, new TextEncoder().encode(body), posted);
  posted.flush("end");
}

function crashed(id: number | null, problem: unknown): void {
  host = null;
  const outOfMemory = problem instanceof OutOfMemory || /out of memory|allocation failed/i.test(String(problem));
  post({ type: "crashed", id, outOfMemory, message: String((problem as Error)?.stack ?? problem) });
}

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "files") data.files.forEach((file) => tree.add(file));
  else if (data.type === "start")
    start(data.module, data.files, data.options).catch((problem: unknown) => crashed(null, problem));
  else {
    try {
      answer(data.id, data.request, data.body);
    } catch (problem) {
      crashed(data.id, problem);
    }
  }
});
