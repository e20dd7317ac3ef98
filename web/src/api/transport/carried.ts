// What a page without a server carries: attnscope.wasm, the built-in models and the lessons. web/pack writes it, as
// blocks inside one HTML file or as files beside index.html.
import type { VirtualFile } from "../../worker/files";

interface CarriedFile {
  path: string;
  size: number;
  url?: string; // of a site
}

interface CarriedModel {
  name: string;
  block?: string; // of one HTML file: the id of the element that holds its files
  files: CarriedFile[]; // the large ones: tokenizer and weights
}

// Names are ids of elements in one HTML file, and URLs in a site.
interface Contents {
  wasm: string;
  files: string; // the small ones: configurations, lessons, the template of exports
  models: CarriedModel[];
}

export interface Carried {
  readonly models: string[];
  module(): Promise<WebAssembly.Module>;
  // What there is from the beginning.
  files(): Promise<VirtualFile[]>;
  // The large files of a model, if they are not among those yet.
  modelFiles(name: string): Promise<VirtualFile[]>;
  readonly packedModels: string[]; // whose files the Worker cannot fetch by itself
}

const kContents = "attnscope-contents";

export function carried(): Carried {
  const contents = JSON.parse(document.getElementById(kContents)!.textContent!) as Contents;
  return __APP__ === "site" ? new SiteFiles(contents) : new PageBlocks(contents);
}

const unzipped = (packed: Blob): Response => new Response(packed.stream().pipeThrough(new DecompressionStream("gzip")));

type FromBase64 = { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };

export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const { fromBase64 } = Uint8Array as FromBase64;
  if (fromBase64) return fromBase64.call(Uint8Array, text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// A pack is uint32 n, n bytes of JSON (paths and sizes), then the files one after the other.
export function unpackFiles(bytes: Uint8Array<ArrayBuffer>): VirtualFile[] {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const list = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as CarriedFile[];
  let at = 4 + length;
  return list.map(({ path, size }) => ({ path, size, content: bytes.subarray(at, (at += size)) }));
}

const asBlob = (file: VirtualFile): VirtualFile => ({ ...file, content: new Blob([file.content as BlobPart]) });

// One HTML file: gzip in base64 in the text of elements. An element goes when it has been unpacked, to free its memory.
class PageBlocks implements Carried {
  private readonly loaded = new Map<string, Promise<VirtualFile[]>>();

  constructor(private readonly contents: Contents) {}

  get models(): string[] {
    return this.contents.models.map(({ name }) => name);
  }

  get packedModels(): string[] {
    return this.models;
  }

  async module(): Promise<WebAssembly.Module> {
    return WebAssembly.compile(await this.block(this.contents.wasm).arrayBuffer());
  }

  async files(): Promise<VirtualFile[]> {
    return unpackFiles(new Uint8Array(await this.block(this.contents.files).arrayBuffer()));
  }

  modelFiles(name: string): Promise<VirtualFile[]> {
    const model = this.contents.models.find((one) => one.name === name);
    if (!model || this.loaded.has(name)) return this.loaded.get(name) ?? Promise.resolve([]);
    const files = this.block(model.block!)
      .arrayBuffer()
      .then((bytes) => unpackFiles(new Uint8Array(bytes)).map(asBlob));
    this.loaded.set(name, files);
    return files;
  }

  private block(id: string): Response {
    const element = document.getElementById(id)!;
    const packed = decodeBase64(element.textContent!);
    element.remove();
    return unzipped(new Blob([packed]));
  }
}

// A site: files are fetched when they are needed. The Worker fetches by itself what nobody has fetched for it.
class SiteFiles implements Carried {
  readonly packedModels: string[] = [];
  private readonly loaded = new Map<string, Promise<VirtualFile[]>>();

  constructor(private readonly contents: Contents) {}

  get models(): string[] {
    return this.contents.models.map(({ name }) => name);
  }

  async module(): Promise<WebAssembly.Module> {
    const url = absolute(this.contents.wasm);
    try {
      return await WebAssembly.compileStreaming(fetch(url));
    } catch {
      return WebAssembly.compile(await (await fetched(url)).arrayBuffer()); // a host that sends another MIME type
    }
  }

  async files(): Promise<VirtualFile[]> {
    const packed = await (await fetched(absolute(this.contents.files))).blob();
    const small = unpackFiles(new Uint8Array(await unzipped(packed).arrayBuffer()));
    const large = this.contents.models.flatMap(({ files }) =>
      files.map(({ path, size, url }) => ({ path, size, content: absolute(url!) })),
    );
    return [...small, ...large];
  }

  modelFiles(name: string): Promise<VirtualFile[]> {
    const model = this.contents.models.find((one) => one.name === name);
    if (!model || this.loaded.has(name)) return this.loaded.get(name) ?? Promise.resolve([]);
    const files = Promise.all(
      model.files.map(async ({ path, size, url }) => ({
        path,
        size,
        content: await (await fetched(absolute(url!))).blob(),
      })),
    );
    this.loaded.set(name, files);
    files.catch(() => this.loaded.delete(name)); // the next request tries again
    return files;
  }
}

// The Worker has another base.
const absolute = (url: string): string => new URL(url, document.baseURI).href;

async function fetched(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response;
}
