// The read-only file system of attnscope.wasm: a tree of files whose bytes are read when they are needed.

// Bytes, a Blob or File, or a URL that is fetched when the file is first read.
export type FileContent = Uint8Array<ArrayBuffer> | Blob | string;

export interface VirtualFile {
  path: string; // absolute: "/models/tiny-bert/config.json"
  size: number;
  content: FileContent;
}

// Only Workers have it, so the types of a page do not.
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

// How bytes are had without waiting. Tests replace it.
export interface SyncReaders {
  blob(blob: Blob): Uint8Array<ArrayBuffer>;
  url(url: string): Uint8Array<ArrayBuffer>;
}

export const kWorkerReaders: SyncReaders = {
  blob: (blob) => new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob)),
  url: (url) => {
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.responseType = "arraybuffer";
    request.send();
    if (request.status !== 200) throw new Error(`${url}: ${request.status}`);
    return new Uint8Array(request.response as ArrayBuffer);
  },
};

// Each read of a Blob asks the browser's own process, so it is read in pieces of this size, the last of which is kept.
const kPiece = 8 << 20;

export class TreeFile {
  private piece: { start: number; bytes: Uint8Array } | null = null;

  constructor(
    private readonly file: VirtualFile,
    readonly inode: number,
    private readonly readers: SyncReaders,
    private readonly fetched: (path: string, content: Blob) => void,
  ) {}

  get size(): number {
    return this.file.size;
  }

  // The bytes from `start` on, at most `length` of them; none at the end of the file.
  read(start: number, length: number): Uint8Array {
    if (start >= this.size) return new Uint8Array();
    const { bytes, first } = this.bytesAt(start);
    return bytes.subarray(start - first, start - first + length);
  }

  // Lets go of what reading has kept.
  release(): void {
    this.piece = null;
  }

  private bytesAt(start: number): { bytes: Uint8Array; first: number } {
    const { content, path } = this.file;
    if (content instanceof Uint8Array) return { bytes: content, first: 0 };
    if (typeof content === "string") {
      const bytes = this.readers.url(content);
      if (bytes.length !== this.size) throw new Error(`${path} has ${bytes.length} bytes, not ${this.size}`);
      this.fetched(path, new Blob([bytes]));
      this.file.content = bytes;
      return { bytes, first: 0 };
    }
    const { piece } = this;
    if (piece && start >= piece.start && start < piece.start + piece.bytes.length)
      return { bytes: piece.bytes, first: piece.start };
    const first = start - (start % kPiece);
    const bytes = this.readers.blob(content.slice(first, first + kPiece));
    this.piece = { start: first, bytes };
    return { bytes, first };
  }
}

export class TreeFolder {
  readonly entries = new Map<string, TreeFile | TreeFolder>();
  constructor(readonly inode: number) {}
}

export class FileTree {
  readonly root = new TreeFolder(1);
  private inodes = 1;

  // `fetched` is told of the contents of URLs, so that a Worker started anew need not fetch them again.
  constructor(
    private readonly readers: SyncReaders = kWorkerReaders,
    private readonly fetched: (path: string, content: Blob) => void = () => undefined,
  ) {}

  // A file of the same path is replaced.
  add(file: VirtualFile): void {
    const names = partsOf(file.path);
    const last = names.pop()!;
    let folder = this.root;
    for (const name of names) {
      const next = folder.entries.get(name) ?? new TreeFolder(++this.inodes);
      if (next instanceof TreeFile) throw new Error(`${file.path}: ${name} is a file`);
      folder.entries.set(name, next);
      folder = next;
    }
    folder.entries.set(last, new TreeFile(file, ++this.inodes, this.readers, this.fetched));
  }

  // `path` is relative to `from`, or absolute; ".." does not leave the tree. Null: there is no such entry.
  find(path: string, from: string[] = []): { entry: TreeFile | TreeFolder; names: string[] } | null {
    const names: string[] = path.startsWith("/") ? [] : [...from];
    for (const name of partsOf(path)) {
      if (name === "..") names.pop();
      else names.push(name);
    }
    let entry: TreeFile | TreeFolder = this.root;
    for (const name of names) {
      const next: TreeFile | TreeFolder | undefined = entry instanceof TreeFolder ? entry.entries.get(name) : undefined;
      if (!next) return null;
      entry = next;
    }
    return { entry, names };
  }
}

const partsOf = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");
