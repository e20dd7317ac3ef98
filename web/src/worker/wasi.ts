// WASI (preview 1), as far as attnscope.wasm needs it: a clock, random numbers, a console, and files that are only read.
import { type FileTree, TreeFile, TreeFolder } from "./files";

export const kErrno = {
  success: 0,
  badf: 8,
  inval: 28,
  io: 29,
  isdir: 31,
  noent: 44,
  nosys: 52,
  notdir: 54,
  rofs: 69,
  spipe: 70,
} as const;

const kFileTypes = { character: 2, folder: 3, file: 4 } as const;
const kRoot = 3; // the descriptor of "/"
const kOpenFlags = { create: 1, folder: 2, exclusive: 4, truncate: 8 } as const;

// Calls that would change a file.
const kWriting = new Set(
  (
    "fd_allocate fd_filestat_set_size fd_filestat_set_times fd_pwrite path_create_directory path_filestat_set_times " +
    "path_link path_remove_directory path_rename path_symlink path_unlink_file"
  ).split(" "),
);

interface Descriptor {
  entry: TreeFile | TreeFolder;
  names: string[]; // of the path
  offset: number; // where the next read begins
}

// The program ended itself: an instance is of no use after that.
export class ProgramExit extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}

type Call = (...values: never[]) => number;

const unsigned = (value: number | bigint): number | bigint => (typeof value === "number" ? value >>> 0 : value);

export class Wasi {
  memory: WebAssembly.Memory | null = null; // known after the module has been instantiated
  private readonly open = new Map<number, Descriptor>();
  private line = ""; // written to the console so far

  constructor(
    private readonly files: FileTree,
    private readonly print: (line: string) => void = (line) => console.warn(line),
  ) {
    this.open.set(kRoot, { entry: files.root, names: [], offset: 0 });
  }

  // The function of this name; one that is unknown or writes answers with an error.
  import(name: string): Call {
    const calls = this as unknown as Record<string, Call | undefined>;
    const call = /^(fd|path|clock|random|environ|sched|proc)_/.test(name) ? calls[name] : undefined;
    if (!call) return () => (kWriting.has(name) ? kErrno.rofs : kErrno.nosys);
    // Addresses above 2 GB arrive as negative numbers.
    return (...values) => call.apply(this, values.map(unsigned) as never[]);
  }

  // Made anew for each use: memory that grows gets another buffer.
  private get view(): DataView {
    return new DataView(this.memory!.buffer);
  }

  private bytes(start: number, length: number): Uint8Array {
    return new Uint8Array(this.memory!.buffer, start, length);
  }

  private text(start: number, length: number): string {
    return new TextDecoder().decode(this.bytes(start, length));
  }

  // ---- surroundings ----

  clock_time_get(clock: number, _precision: bigint, out: number): number {
    const ms = clock === 0 ? Date.now() : performance.now();
    this.view.setBigUint64(out, BigInt(Math.round(ms * 1e6)), true);
    return kErrno.success;
  }

  clock_res_get(_clock: number, out: number): number {
    this.view.setBigUint64(out, 1000n, true);
    return kErrno.success;
  }

  random_get(start: number, length: number): number {
    const kMost = 65536; // bytes per call
    for (let done = 0; done < length; done += kMost)
      crypto.getRandomValues(this.bytes(start + done, Math.min(kMost, length - done)) as Uint8Array<ArrayBuffer>);
    return kErrno.success;
  }

  environ_sizes_get(count: number, size: number): number {
    this.view.setUint32(count, 0, true);
    this.view.setUint32(size, 0, true);
    return kErrno.success;
  }

  environ_get(): number {
    return kErrno.success;
  }

  sched_yield(): number {
    return kErrno.success;
  }

  proc_exit(code: number): number {
    throw new ProgramExit(code);
  }

  // ---- descriptors ----

  fd_prestat_get(fd: number, out: number): number {
    if (fd !== kRoot) return kErrno.badf;
    this.view.setUint32(out, 0, true); // a folder
    this.view.setUint32(out + 4, 1, true); // the length of "/"
    return kErrno.success;
  }

  fd_prestat_dir_name(fd: number, start: number, length: number): number {
    if (fd !== kRoot) return kErrno.badf;
    if (length < 1) return kErrno.inval;
    this.view.setUint8(start, "/".charCodeAt(0));
    return kErrno.success;
  }

  fd_fdstat_get(fd: number, out: number): number {
    const type = fd < kRoot ? kFileTypes.character : typeOf(this.open.get(fd)?.entry);
    if (type === undefined) return kErrno.badf;
    this.bytes(out, 24).fill(0);
    this.view.setUint8(out, type);
    this.view.setBigUint64(out + 8, ~0n, true); // all rights: what is not possible fails by itself
    this.view.setBigUint64(out + 16, ~0n, true);
    return kErrno.success;
  }

  fd_filestat_get(fd: number, out: number): number {
    const found = this.open.get(fd);
    if (!found) return kErrno.badf;
    this.writeFileStat(found.entry, out);
    return kErrno.success;
  }

  fd_close(fd: number): number {
    const found = this.open.get(fd);
    if (!found || fd === kRoot) return kErrno.badf;
    if (found.entry instanceof TreeFile) found.entry.release();
    this.open.delete(fd);
    return kErrno.success;
  }

  fd_read(fd: number, vectors: number, count: number, out: number): number {
    const found = this.open.get(fd);
    if (!found) return kErrno.badf;
    const { errno, bytes } = this.readInto(found, vectors, count, found.offset);
    found.offset += bytes;
    this.view.setUint32(out, bytes, true);
    return errno;
  }

  fd_pread(fd: number, vectors: number, count: number, offset: bigint, out: number): number {
    const found = this.open.get(fd);
    if (!found) return kErrno.badf;
    const { errno, bytes } = this.readInto(found, vectors, count, Number(offset));
    this.view.setUint32(out, bytes, true);
    return errno;
  }

  fd_seek(fd: number, by: bigint, whence: number, out: number): number {
    const found = this.open.get(fd);
    if (!found) return fd < kRoot ? kErrno.spipe : kErrno.badf;
    if (!(found.entry instanceof TreeFile)) return kErrno.isdir;
    const from = [0, found.offset, found.entry.size][whence];
    if (from === undefined || from + Number(by) < 0) return kErrno.inval;
    found.offset = from + Number(by);
    this.view.setBigUint64(out, BigInt(found.offset), true);
    return kErrno.success;
  }

  fd_tell(fd: number, out: number): number {
    return this.fd_seek(fd, 0n, 1, out);
  }

  // The console shows whole lines.
  fd_write(fd: number, vectors: number, count: number, out: number): number {
    if (fd !== 1 && fd !== 2) return this.open.has(fd) ? kErrno.rofs : kErrno.badf;
    let bytes = 0;
    for (const [start, length] of this.vectors(vectors, count)) {
      this.line += this.text(start, length);
      bytes += length;
    }
    const lines = this.line.split("\n");
    this.line = lines.pop()!;
    lines.forEach((line) => this.print(line));
    this.view.setUint32(out, bytes, true);
    return kErrno.success;
  }

  fd_readdir(fd: number, start: number, length: number, cookie: bigint, out: number): number {
    const found = this.open.get(fd);
    if (!found) return kErrno.badf;
    if (!(found.entry instanceof TreeFolder)) return kErrno.notdir;
    let used = 0;
    let next = Number(cookie);
    for (const [name, entry] of [...found.entry.entries].slice(next)) {
      const record = directoryRecord(name, entry, ++next).subarray(0, length - used);
      this.bytes(start + used, record.length).set(record);
      used += record.length;
      if (used === length) break; // a record that is cut off tells the caller that there are more
    }
    this.view.setUint32(out, used, true);
    return kErrno.success;
  }

  // ---- paths ----

  path_open(
    fd: number,
    _lookup: number,
    path: number,
    pathLength: number,
    flags: number,
    _rights: bigint,
    _inheriting: bigint,
    _fdFlags: number,
    out: number,
  ): number {
    const folder = this.open.get(fd);
    if (!folder) return kErrno.badf;
    const found = this.files.find(this.text(path, pathLength), folder.names);
    if (!found) return flags & kOpenFlags.create ? kErrno.rofs : kErrno.noent;
    if (flags & (kOpenFlags.truncate | kOpenFlags.exclusive)) return kErrno.rofs;
    if (flags & kOpenFlags.folder && found.entry instanceof TreeFile) return kErrno.notdir;
    let free = kRoot + 1;
    while (this.open.has(free)) ++free;
    this.open.set(free, { ...found, offset: 0 });
    this.view.setUint32(out, free, true);
    return kErrno.success;
  }

  path_filestat_get(fd: number, _lookup: number, path: number, pathLength: number, out: number): number {
    const folder = this.open.get(fd);
    if (!folder) return kErrno.badf;
    const found = this.files.find(this.text(path, pathLength), folder.names);
    if (!found) return kErrno.noent;
    this.writeFileStat(found.entry, out);
    return kErrno.success;
  }

  // ---- parts ----

  private *vectors(start: number, count: number): Generator<[start: number, length: number]> {
    for (let i = 0; i < count; ++i)
      yield [this.view.getUint32(start + 8 * i, true), this.view.getUint32(start + 8 * i + 4, true)];
  }

  private readInto(
    { entry }: Descriptor,
    vectors: number,
    count: number,
    from: number,
  ): { errno: number; bytes: number } {
    if (!(entry instanceof TreeFile)) return { errno: kErrno.isdir, bytes: 0 };
    let bytes = 0;
    for (const [start, length] of this.vectors(vectors, count)) {
      for (let filled = 0; filled < length;) {
        const part = readOrNull(entry, from + bytes, length - filled);
        if (!part) return { errno: kErrno.io, bytes: 0 };
        if (part.length === 0) return { errno: kErrno.success, bytes };
        this.bytes(start + filled, part.length).set(part);
        filled += part.length;
        bytes += part.length;
      }
    }
    return { errno: kErrno.success, bytes };
  }

  private writeFileStat(entry: TreeFile | TreeFolder, out: number): void {
    this.bytes(out, 64).fill(0);
    this.view.setBigUint64(out + 8, BigInt(entry.inode), true);
    this.view.setUint8(out + 16, typeOf(entry)!);
    this.view.setBigUint64(out + 24, 1n, true); // links
    this.view.setBigUint64(out + 32, BigInt(entry instanceof TreeFile ? entry.size : 0), true);
  }
}

// Null: the file cannot be read any more, because the user has changed or removed it, or the network is gone.
function readOrNull(file: TreeFile, start: number, length: number): Uint8Array | null {
  try {
    return file.read(start, length);
  } catch (problem) {
    console.warn(problem);
    return null;
  }
}

function typeOf(entry: TreeFile | TreeFolder | undefined): number | undefined {
  return entry && (entry instanceof TreeFile ? kFileTypes.file : kFileTypes.folder);
}

function directoryRecord(name: string, entry: TreeFile | TreeFolder, next: number): Uint8Array {
  const text = new TextEncoder().encode(name);
  const record = new Uint8Array(24 + text.length);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(next), true);
  view.setBigUint64(8, BigInt(entry.inode), true);
  view.setUint32(16, text.length, true);
  view.setUint8(20, typeOf(entry)!);
  record.set(text, 24);
  return record;
}
