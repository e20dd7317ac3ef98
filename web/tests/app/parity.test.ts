// attnscope.wasm answers as the program does: requests of journeys over the page, sent to both. In node, by the host of
// the page's Worker; files come from the repository.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { differences } from "../differences";
import { FileTree } from "../../src/worker/files";
import { Host, type AnswerHead } from "../../src/worker/host";
import { kRequests, type ParityRequest } from "./requests";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const kWasm = process.env.ATTNSCOPE_WASM ?? `${root}build-wasm/attnscope.wasm`;
const kProgram = process.env.ATTNSCOPE ?? `${root}build/attnscope`;
const kOffline = `${root}build/web/dist/offline.html`;
const there = [kWasm, kProgram, kOffline].every((file) => existsSync(file));
if (!there && process.env.ATTNSCOPE_NEEDS_WASM) throw new Error(`${kWasm}, ${kProgram} or ${kOffline} is missing`);
if (!there) console.warn(`skipped: ${kWasm}, ${kProgram} or ${kOffline} is missing`);

interface Answer {
  status: number;
  headers: Headers;
  body: Buffer;
}

function filesOfRepository(): FileTree {
  const tree = new FileTree();
  const add = (path: string, file: string) => {
    const content = new Uint8Array(readFileSync(file));
    tree.add({ path, size: content.length, content });
  };
  for (const kind of ["models", "lessons"])
    for (const folder of readdirSync(root + kind, { withFileTypes: true }).filter((one) => one.isDirectory()))
      for (const name of readdirSync(`${root}${kind}/${folder.name}`))
        add(`/${kind}/${folder.name}/${name}`, `${root}${kind}/${folder.name}/${name}`);
  add("/page/offline.html", kOffline);
  return tree;
}

// A module with its files, asked as the Worker asks it.
class WasmSide {
  private constructor(private readonly host: Host) {}

  static async start(): Promise<WasmSide> {
    const module = await WebAssembly.compile(readFileSync(kWasm));
    const side = new WasmSide(await Host.create(module, filesOfRepository()));
    const models = ["imdb-sentiment", "tiny-bert", "tiny-gpt", "tiny-translate"];
    const { status } = side.collect((sink) =>
      side.host.start({ memory: 2 ** 30, cache: 2 ** 26, models, first_id: 1 }, sink),
    );
    expect(status).toBe(200);
    return side;
  }

  ask({ method, url, body }: ParityRequest): Answer {
    const { pathname, searchParams } = new URL(url, "http://page/");
    const request = { method, path: decodeURIComponent(pathname), query: Object.fromEntries(searchParams) };
    const bytes = new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body));
    return this.collect((sink) => this.host.request({ ...request, events: false }, bytes, sink));
  }

  private collect(run: (sink: Parameters<Host["start"]>[1]) => void): Answer {
    let head: AnswerHead = { status: 0, headers: [] };
    const parts: Uint8Array[] = [];
    run({ head: (given) => void (head = given), write: (part) => void parts.push(part), event: () => undefined });
    return { status: head.status, headers: new Headers(head.headers), body: Buffer.concat(parts) };
  }
}

class ProgramSide {
  private constructor(
    private readonly url: string,
    private readonly process: ChildProcess,
  ) {}

  // The first recording of both has the id 1.
  static start(): Promise<ProgramSide> {
    const { model, text } = kRequests[0].body as { model: string; text: string };
    const child = spawn(kProgram, ["view", "--no-open", "--port", "0", "--model", model, "--text", text]);
    return new Promise((found, failed) => {
      child.on("exit", (code) => failed(new Error(`attnscope view ended with ${code}`)));
      for (const out of [child.stdout, child.stderr])
        out.on("data", (bytes: Buffer) => {
          const url = /http:\/\/\S+/.exec(bytes.toString())?.[0];
          if (url) found(new ProgramSide(url, child));
        });
    });
  }

  async ask({ method, url, body }: ParityRequest): Promise<Answer> {
    const headers = { "Content-Type": "application/json" };
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    const response = await fetch(this.url + url, { method, ...sent });
    return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  }

  end(): void {
    this.process.removeAllListeners("exit");
    this.process.kill("SIGINT");
  }
}

// Letters have other widths where there is no browser, so that figures are laid out in another way.
const kLayout = /^figures\./;

const floats = (bytes: Buffer): number[] => [
  ...new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)),
];

// Bytes stand for weights: one step is rounding.
const farBytes = (a: Buffer, b: Buffer): string[] => {
  if (a.length !== b.length) return [`${a.length} bytes, not ${b.length}`];
  return [...a].flatMap((byte, i) => (Math.abs(byte - b[i]) > 1 ? [`byte ${i}: ${byte}, ${b[i]}`] : []));
};

function compared(wasm: Answer, program: Answer, { as, ignore }: ParityRequest): string[] {
  if (wasm.status !== program.status) return [`status ${wasm.status}, not ${program.status}: ${wasm.body.toString()}`];
  const names = ["X-Shape", "X-Scale", "Content-Disposition"];
  const heads = [wasm, program].map(({ headers }) => names.map((name) => headers.get(name)));
  const far = differences(heads[0], heads[1], "header");
  if (as === "bytes") return [...far, ...farBytes(wasm.body, program.body)];
  if (as === "floats") return [...far, ...differences(floats(wasm.body), floats(program.body))];
  if (as === "text") return [...far, ...differences(wasm.body.toString(), program.body.toString())];
  if (as === "size") return wasm.body.length > 0 && program.body.length > 0 ? far : ["empty"];
  const json = differences(JSON.parse(wasm.body.toString()), JSON.parse(program.body.toString()));
  return [...far, ...json.filter((line) => !ignore?.test(line) && !kLayout.test(line))];
}

describe.skipIf(!there)("attnscope.wasm answers as the program does", () => {
  let wasm: WasmSide;
  let program: ProgramSide;
  beforeAll(async () => {
    [wasm, program] = await Promise.all([WasmSide.start(), ProgramSide.start()]);
  }, 60_000);
  afterAll(() => program?.end());

  // In order: recordings have numbers.
  for (const request of kRequests)
    test(`${request.method} ${request.url.slice(0, 100)} ${JSON.stringify(request.body ?? "").slice(0, 80)}`, async () => {
      const of = wasm.ask(request);
      expect(
        compared(of, await program.ask(request), request)
          .slice(0, 5)
          .map((line) => line.slice(0, 200)),
      ).toEqual([]);
    }, 60_000);
});
